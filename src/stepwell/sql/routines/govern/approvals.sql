-- Approvals: questions to reviewers that are requested, decided and withdrawn. What follows from their end is in
-- govern/approval_ends.sql.

-- Asks reviewers whether something may be done to a step or run. One or two of them must agree in time: everybody
-- except the requester and the actor, or only the named approvers, or only those with a role.
-- Locks: none beyond the new rows.
-- Idempotency: by key: the same key returns the approval that exists.
-- Raises: SW001 for a quorum, tier, time or list that is not accepted; SW002 when there is no such step or run; SW003
--   when its run is cancelled, or is to be cancelled and has completed; SW007 for another tenant.
create or replace function stepwell.fn_approval_request(
    p_tenant_id int, p_action text, p_subject_unit_id bigint, p_actor text, p_reason text default null,
    p_quorum int default 1, p_expires_seconds int default null, p_key text default null, p_tier int default 1,
    p_approvers text[] default null, p_role text default null
) returns bigint
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_approval_id bigint;
    v_run_state text;
begin
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'approval.request');
    if p_quorum not between 1 and 2 or p_expires_seconds not between 1 and 31536000 or p_tier not between 1 and 3 then
        raise exception using errcode = 'SW001',
            column = case when p_quorum not between 1 and 2 then 'quorum' when p_tier not between 1 and 3 then 'tier'
                else 'expires_seconds' end,
            message = case when p_quorum not between 1 and 2 then 'quorum: 1 or 2 is accepted'
                when p_tier not between 1 and 3 then 'tier: 1 (low), 2 (med) or 3 (high) is accepted'
                else 'expires_seconds: 1 to 31536000 are accepted' end;
    end if;
    if cardinality(p_approvers) not between 1 and 50 or cardinality(p_approvers) < p_quorum and p_role is null then
        raise exception using errcode = 'SW001', column = 'approvers',
            message = 'approvers: 1 to 50 names are accepted, and at least as many as the quorum';
    end if;
    if p_action is null or p_action !~ '^[a-z][a-z0-9_.]{0,99}$' then
        raise exception using errcode = 'SW001', column = 'action', message = 'action: 1 to 100 lowercase letters, digits, _ and . are accepted';
    end if;
    select a.approval_id into v_approval_id from stepwell.approval_detail as a
    where a.tenant_id = p_tenant_id and a.request_key = p_key;
    if found then
        return v_approval_id;
    end if;
    if p_action = 'act' then
        raise exception using errcode = 'SW001', column = 'action',
            message = 'action: act is not accepted; an action requests its own approval';
    end if;
    if not exists (select from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_subject_unit_id) then
        raise exception using errcode = 'SW002', message = format('%s does not exist', stepwell._unit_ref(p_subject_unit_id));
    end if;
    select r.state_code into v_run_state from stepwell.work_unit as r
    where r.tenant_id = p_tenant_id and r.scope = 'workflow_run' and r.unit_id = stepwell._run_unit(stepwell._run_of(p_subject_unit_id));
    if v_run_state = 'cancelled' then
        raise exception using errcode = 'SW003',
            message = format('run %s is cancelled; nothing about it can be approved', stepwell._run_of(p_subject_unit_id));
    end if;
    if v_run_state = 'completed' and p_action = 'workflow_cancel' then
        raise exception using errcode = 'SW003', message = format('run %s has completed and cannot be cancelled',
            stepwell._run_of(p_subject_unit_id));
    end if;
    return stepwell._approval_request(p_tenant_id, p_action, p_subject_unit_id, p_actor, p_reason, p_tier, p_quorum,
        p_expires_seconds, p_key, null, p_approvers, p_role);
end
$$;

-- A reviewer decides: one reject ends the approval, enough agreement grants it, and what follows happens in the same
-- transaction. Neither the requester nor the actor may decide; where approvers are named, only they may.
-- Locks: the run or job it is about, then the approval.
-- Idempotency: the same decision of the same reviewer again changes nothing.
-- Raises: SW001 for an unknown decision, or a reject without a reason; SW002 when there is no such approval; SW003 when
--   it is decided or has expired; SW007 when this person may not decide, or for another tenant.
create or replace function stepwell.fn_approval_decide(
    p_tenant_id int, p_approval_id bigint, p_decision text, p_actor text, p_reason text default null
) returns text
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_actor constant text := stepwell._actor_bound(p_tenant_id, p_actor, 'approval.decide');
    v_now timestamptz;
    v_voter text;
    v_approval stepwell.approval_detail;
begin
    if p_decision not in ('approve', 'reject') or p_decision is null then
        raise exception using errcode = 'SW001', column = 'decision', message = 'decision: approve or reject is accepted';
    end if;
    select a.* into v_approval from stepwell.approval_detail as a
    where a.tenant_id = p_tenant_id and a.approval_id = p_approval_id;
    if not found then
        raise exception using errcode = 'SW002', message = format('approval %s does not exist', stepwell._unit_ref(p_approval_id));
    end if;
    perform stepwell._runs_and_jobs_lock(array[p_tenant_id, p_tenant_id], array[v_approval.subject_unit_id, p_approval_id]);
    select a.* into v_approval from stepwell.approval_detail as a
    where a.tenant_id = p_tenant_id and a.approval_id = p_approval_id;
    if exists (select from stepwell.approval_vote as v where v.tenant_id = p_tenant_id and v.approval_id = p_approval_id
        and stepwell._name_fold(v.voter) = stepwell._actor_plain(v_actor) and v.decision = p_decision) then
        return (select u.state_code from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_approval_id);
    end if;
    if v_approval.decided_at is not null or v_approval.expires_at <= stepwell.now() then
        raise exception using errcode = 'SW003', message = format('approval %s has been decided or has expired', stepwell._unit_ref(p_approval_id));
    end if;
    v_voter := stepwell._approval_voter(v_approval, v_actor);
    if p_decision = 'reject' and coalesce(btrim(p_reason), '') = '' then
        raise exception using errcode = 'SW001', column = 'reason', message = 'reason: a reject requires a reason';
    end if;
    p_reason := stepwell._redact_text(p_reason);
    v_now := stepwell.now();
    insert into stepwell.approval_vote (tenant_id, approval_id, voter, decision, reason, voted_at)
    values (p_tenant_id, p_approval_id, v_voter, p_decision, p_reason, v_now)
    on conflict (tenant_id, approval_id, voter) do update set decision = excluded.decision, reason = excluded.reason,
        voted_at = excluded.voted_at;
    perform stepwell._event_append_at(p_tenant_id, p_approval_id, 'approval.vote_recorded', v_actor,
        jsonb_strip_nulls(jsonb_build_object('voter', v_voter, 'decision', p_decision, 'reason', p_reason)), 'reviewer', v_now);
    if p_decision = 'reject' then
        perform stepwell._approval_end(p_tenant_id, p_approval_id, 'rejected', v_actor, p_reason);
        perform stepwell._approval_settle(p_tenant_id, p_approval_id, v_actor);
        return 'rejected';
    end if;
    if not stepwell._approval_quorum(p_tenant_id, p_approval_id) then
        return 'requested';
    end if;
    perform stepwell._approval_end(p_tenant_id, p_approval_id, 'approved', v_actor, p_reason);
    perform stepwell._approval_settle(p_tenant_id, p_approval_id, v_actor);
    return 'approved';
end
$$;

-- The requester withdraws an approval; what waited for it does not continue.
-- Locks: the run or job it is about, then the approval.
-- Idempotency: a withdrawn approval stays withdrawn.
-- Raises: SW002 when there is no such approval; SW003 when it is decided; SW007 when somebody else requested it, or for
--   another tenant.
create or replace function stepwell.fn_approval_withdraw(
    p_tenant_id int, p_approval_id bigint, p_actor text, p_reason text default null
) returns text
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_approval record;
begin
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'approval.request');
    perform stepwell._runs_and_jobs_lock(array_agg(a.tenant_id) || p_tenant_id, array_agg(a.subject_unit_id) || p_approval_id)
    from stepwell.approval_detail as a
    where a.tenant_id = p_tenant_id and a.approval_id = p_approval_id;
    select a.requested_by, u.state_code into v_approval
    from stepwell.approval_detail as a
    inner join stepwell.work_unit as u on a.tenant_id = u.tenant_id and a.approval_id = u.unit_id
    where a.tenant_id = p_tenant_id and a.approval_id = p_approval_id;
    if not found then
        raise exception using errcode = 'SW002', message = format('approval %s does not exist', stepwell._unit_ref(p_approval_id));
    end if;
    if stepwell._actor_plain(v_approval.requested_by) <> stepwell._actor_plain(p_actor) then
        raise exception using errcode = 'SW007', message = 'only the requester of an approval can withdraw it';
    end if;
    if v_approval.state_code = 'cancelled' then
        return 'cancelled';
    end if;
    if v_approval.state_code <> 'requested' then
        raise exception using errcode = 'SW003', message = format('approval %s is %s and cannot be withdrawn', stepwell._unit_ref(p_approval_id),
            v_approval.state_code);
    end if;
    perform stepwell._units_move(array[p_tenant_id], array[p_approval_id], 'cancelled', 'pic_human', 'rpc',
        'approval_withdraw', p_actor, array[jsonb_build_object('audit_ref', 'person:' || p_actor)],
        array[jsonb_strip_nulls(jsonb_build_object('reason', p_reason))]);
    perform stepwell._approvals_close(array[p_tenant_id], array[p_approval_id], p_actor);
    perform stepwell._approval_settle(p_tenant_id, p_approval_id, p_actor);
    return 'cancelled';
end
$$;

-- Creates an approval: a unit in the state requested, with its subject and who may decide. The tier gives the time to
-- decide and the role, where the request does not. An event of the subject names the approval: evidence of a run shows
-- every approval about it, also if somebody removes its rows.
create or replace function stepwell._approval_request(
    p_tenant_id int, p_action text, p_subject_unit_id bigint, p_actor text, p_reason text, p_tier int default 1,
    p_quorum int default 1, p_expires_seconds int default null, p_key text default null, p_acting text default null,
    p_approvers text[] default null, p_role text default null, p_about jsonb default null
) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_approval_id constant bigint := stepwell._run_unit(nextval('stepwell.run_seq'));
    v_tier constant text := (array['low', 'med', 'high'])[p_tier];
    v_expires_at constant timestamptz := v_now + make_interval(secs => coalesce(p_expires_seconds, (
        select (c.config_value #>> '{}')::int from stepwell.dot_config as c
        where c.config_key = 'approval.expiry_seconds.' || v_tier
    ), stepwell._limit('approval.expiry_seconds.default')));
    v_role constant text := case when p_approvers is null then coalesce(p_role, (
        select c.config_value #>> '{}' from stepwell.dot_config as c
        where c.config_key = 'approval.role.' || v_tier)) else p_role end;
begin
    insert into stepwell.work_unit (
        tenant_id, unit_id, parent_id, last_transition_at, started_at, deadline_at, scope, state_machine_id, state_code)
    values (p_tenant_id, v_approval_id, p_subject_unit_id, v_now, v_now, v_expires_at, 'approval',
        stepwell._machine_of('approval'), 'requested');
    insert into stepwell.event_log (
        tenant_id, at, run_id, unit_id, event_type, to_state, actor_class, actor, payload)
    values (p_tenant_id, v_now, stepwell._run_of(v_approval_id), v_approval_id, 'approval.requested', 'requested', 'pic_human', p_actor,
        jsonb_strip_nulls(jsonb_build_object('action', p_action, 'subject_unit_id', p_subject_unit_id, 'reason', stepwell._redact_text(p_reason),
            'tier', p_tier, 'quorum', p_quorum, 'acting', p_acting, 'approvers', p_approvers, 'approver_role', v_role,
            'expires_at', to_char(v_expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
            'about', stepwell._value_digest(p_tenant_id, 'approval:' || v_approval_id || ':about', p_about))));
    perform stepwell._event_append(p_tenant_id, p_subject_unit_id, 'approval.opened', p_actor,
        jsonb_build_object('approval_id', v_approval_id, 'action', p_action));
    insert into stepwell.approval_detail (
        tenant_id, approval_id, action, subject_unit_id, tier, quorum, requested_by, reason, requested_at, expires_at,
        request_key, acting, approvers, approver_role, about)
    values (p_tenant_id, v_approval_id, p_action, p_subject_unit_id, p_tier, p_quorum, p_actor, stepwell._redact_text(p_reason), v_now, v_expires_at,
        p_key, p_acting, p_approvers, v_role, p_about);
    insert into stepwell.timer (tenant_id, unit_id, timer_kind, due_at)
    values (p_tenant_id, v_approval_id, 'approval_expiry', v_expires_at);
    perform stepwell._evidence_ask(p_tenant_id, p_subject_unit_id);
    -- The run checks its open approvals after each change.
    update stepwell.run_progress as p set needs_attention = true
    where p.tenant_id = p_tenant_id and p.run_id = stepwell._run_of(p_subject_unit_id) and not p.needs_attention;
    return v_approval_id;
end
$$;

-- The name of the person who decides, after the check that they may: an active person, not the requester, not the actor;
-- where approvers or a role are named, only they.
-- Raises: SW007 when not.
create or replace function stepwell._approval_voter(p_approval stepwell.approval_detail, p_actor text) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_key constant text := stepwell._actor_plain(p_actor);
    v_person record;
begin
    if v_key = stepwell._actor_plain(p_approval.requested_by) then
        raise exception using errcode = 'SW007', message = 'the requester of an approval cannot decide it';
    end if;
    if v_key = stepwell._actor_plain(p_approval.acting) then
        raise exception using errcode = 'SW007', message = 'the actor of an approval cannot decide it';
    end if;
    if v_key = any (select stepwell._actor_plain(b.name)
        from unnest(stepwell._people_behind(p_approval.tenant_id, p_approval.subject_unit_id)) as b (name)) then
        raise exception using errcode = 'SW007', message = format(
            'who started, scheduled, published or repeated what an approval is about cannot decide it: %s', p_actor);
    end if;
    select p.person_id, p.person_name into v_person from stepwell.person as p
    where p.tenant_id = p_approval.tenant_id and p.name_key = v_key and p.is_active;
    if not found then
        raise exception using errcode = 'SW007', column = 'actor', hint = stepwell._person_hint(p_approval.tenant_id, p_actor),
            message = format('only a person can decide an approval; no person is called %s', coalesce(p_actor, '(none)'));
    end if;
    if (p_approval.approvers is null and p_approval.approver_role is null)
        or exists (select from unnest(p_approval.approvers) as a (name) where stepwell._name_fold(a.name) = v_key)
        or exists (select from stepwell.person_role as r where r.tenant_id = p_approval.tenant_id
            and r.person_id = v_person.person_id and r.role_name = p_approval.approver_role) then
        return v_person.person_name;
    end if;
    raise exception using errcode = 'SW007', message = format('approval %s can only be decided by %s', stepwell._unit_ref(p_approval.approval_id),
        concat_ws(' or ', nullif(array_to_string(p_approval.approvers, ', '), ''), 'the role ' || p_approval.approver_role));
end
$$;

-- Approvals: their subject, its run if it belongs to one, who requested them, how many must agree, who has decided, until when.
create or replace view stepwell.v_approval with (security_invoker = true) as
select
    a.tenant_id,
    a.approval_id,
    u.state_code,
    a.action,
    a.subject_unit_id,
    case when s.scope in ('workflow_run', 'step', 'task') then stepwell._run_of(s.unit_id) end as run_id,
    a.tier,
    a.quorum,
    (select count(*) from stepwell.approval_vote as v
        where v.tenant_id = a.tenant_id and v.approval_id = a.approval_id and v.decision = 'approve') as approve_count,
    (select jsonb_agg(jsonb_build_object('voter', v.voter, 'decision', v.decision, 'reason', v.reason, 'voted_at', v.voted_at)
            order by v.voted_at, v.voter) from stepwell.approval_vote as v
        where v.tenant_id = a.tenant_id and v.approval_id = a.approval_id) as votes,
    a.requested_by,
    a.reason,
    a.requested_at,
    a.expires_at,
    a.decided_at,
    a.decided_by,
    a.acting,
    a.approvers,
    a.approver_role,
    a.about
from stepwell.approval_detail as a
inner join stepwell.work_unit as u on a.tenant_id = u.tenant_id and a.approval_id = u.unit_id
left join stepwell.work_unit as s on a.tenant_id = s.tenant_id and a.subject_unit_id = s.unit_id;
