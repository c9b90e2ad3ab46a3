-- Approvals: questions to reviewers that are requested, decided and withdrawn. What follows from their end is in
-- govern/approval_ends.sql.

-- Asks reviewers whether something may be done to a step or run. One or two of them must agree in time: everybody
-- except the requester and the actor, or only the named approvers, or only those with a role.
-- Locks: none beyond the new rows.
-- Idempotency: by key: the same question with the same key returns the approval that exists.
-- Raises: SW001 for a quorum, tier, time, key or list that is not accepted; SW002 when there is no such step or run; SW003
--   when the key belongs to another question, when its run is cancelled, or is to be cancelled and has completed; SW007 for
--   another tenant.
create or replace function stepwell.fn_approval_request(
    p_tenant_id int, p_action text, p_subject_unit_id bigint, p_actor text, p_reason text default null,
    p_quorum int default 1, p_expires_seconds int default null, p_key text default null, p_tier int default 1,
    p_approvers text[] default null, p_role text default null
) returns bigint
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_found stepwell.approval_detail;
    v_run_state text;
begin
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'approval.request');
    perform stepwell._unit_shown_check(p_tenant_id, p_subject_unit_id);
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
    perform stepwell._secret_refuse('role', p_role);
    perform stepwell._secret_refuse('approvers', x.approver) from unnest(p_approvers) as x (approver);
    perform stepwell._approval_role_check(p_tenant_id, p_tier, p_approvers, p_role);
    if p_action is null or p_action !~ '^[a-z][a-z0-9_.]{0,99}$' then
        raise exception using errcode = 'SW001', column = 'action', message = 'action: 1 to 100 lowercase letters, digits, _ and . are accepted';
    end if;
    -- The engine requests approvals of actions under such keys; nobody else may take one of them.
    if p_key like 'act:%' then
        raise exception using errcode = 'SW001', column = 'key', message = 'key: act: is reserved; another beginning is accepted';
    end if;
    select a.* into v_found from stepwell.approval_detail as a
    where a.tenant_id = p_tenant_id and a.request_key = p_key;
    if found then
        if (v_found.action, v_found.subject_unit_id, v_found.quorum, v_found.tier, v_found.approvers, v_found.approver_role)
            is distinct from (p_action, p_subject_unit_id, p_quorum, p_tier, p_approvers, coalesce(p_role, v_found.approver_role)) then
            raise exception using errcode = 'SW003', column = 'key', message = format(
                'key: approval %s has this key and asks something else', stepwell._unit_ref(v_found.approval_id));
        end if;
        return v_found.approval_id;
    end if;
    -- What follows from these is done by the engine, which asks for them itself, with the rules of their kind.
    if p_action in ('act', 'proposal', 'replay', 'replay_plan') then
        raise exception using errcode = 'SW001', column = 'action',
            message = format('action: %s is not accepted; an action, a policy and a replay request their own approval', p_action);
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

-- A reviewer decides about what was shown: one reject ends the approval, enough agreement grants it, and what follows
-- happens in the same transaction. p_shown is the digest that was read with the approval (v_approval.shown_digest).
-- Neither the requester nor the actor may decide; where approvers are named, only they may.
-- Locks: the run or job it is about, then the approval.
-- Idempotency: the same decision of the same reviewer again changes nothing.
-- Raises: SW001 for an unknown decision, a reject without a reason, or without a digest; SW002 when there is no such
--   approval; SW003 when it is decided, has expired or is not what was shown; SW007 when this person may not decide, or
--   for another tenant.
create or replace function stepwell.fn_approval_decide(
    p_tenant_id int, p_approval_id bigint, p_decision text, p_actor text, p_shown text, p_reason text default null
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
    if p_shown is null or p_shown !~ '^[0-9a-f]{64}$' then
        raise exception using errcode = 'SW001', column = 'shown_digest', hint = 'it is shown_digest of the approval',
            message = 'shown_digest: the digest of what was shown is required, 64 digits and letters from a to f';
    end if;
    select a.* into v_approval from stepwell.approval_detail as a
    where a.tenant_id = p_tenant_id and a.approval_id = p_approval_id;
    if not found then
        raise exception using errcode = 'SW002', message = format('approval %s does not exist', stepwell._unit_ref(p_approval_id));
    end if;
    perform stepwell._runs_and_jobs_lock(array[p_tenant_id, p_tenant_id], array[v_approval.subject_unit_id, p_approval_id]);
    select a.* into v_approval from stepwell.approval_detail as a
    where a.tenant_id = p_tenant_id and a.approval_id = p_approval_id
    for update;
    if p_shown <> stepwell._approval_shown(v_approval) then
        raise exception using errcode = 'SW003', column = 'shown_digest', hint = 'read the approval again, then decide',
            message = format('approval %s is not what was shown', stepwell._unit_ref(p_approval_id));
    end if;
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
    p_reason := stepwell._visible(stepwell._redact_text(p_reason));
    v_now := stepwell.now();
    insert into stepwell.approval_vote (tenant_id, approval_id, voter, decision, reason, voted_at)
    values (p_tenant_id, p_approval_id, v_voter, p_decision, p_reason, v_now)
    on conflict (tenant_id, approval_id, voter) do update set decision = excluded.decision, reason = excluded.reason,
        voted_at = excluded.voted_at;
    perform stepwell._event_append_at(p_tenant_id, p_approval_id, 'approval.vote_recorded', v_actor,
        jsonb_strip_nulls(jsonb_build_object('voter', v_voter, 'decision', p_decision, 'reason', p_reason,
            'shown_digest', p_shown)), 'reviewer', v_now);
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
    p_reason := stepwell._redact_text(p_reason);
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
    -- Reviewers read these on pages, in terminals and in Slack: what they read must be what is there.
    v_about constant jsonb := stepwell._visible_value(p_about);
    v_reason constant text := stepwell._visible(stepwell._redact_text(p_reason));
    v_role constant text := case when p_approvers is null then coalesce(p_role, (
        select c.config_value #>> '{}' from stepwell.dot_config as c
        where c.config_key = 'approval.role.' || v_tier)) else p_role end;
begin
    insert into stepwell.work_unit (
        tenant_id, unit_id, parent_id, last_transition_at, started_at, deadline_at, scope, state_machine_id, state_code)
    values (p_tenant_id, v_approval_id, p_subject_unit_id, v_now, v_now, v_expires_at, 'approval',
        stepwell._machine_of('approval'), 'requested');
    perform stepwell._event_born(p_tenant_id, v_approval_id, 'approval.requested', 'requested', p_actor,
        jsonb_strip_nulls(jsonb_build_object('action', p_action, 'subject_unit_id', p_subject_unit_id, 'reason', v_reason,
            'tier', p_tier, 'quorum', p_quorum, 'acting', p_acting, 'approvers', p_approvers, 'approver_role', v_role,
            'request_key', coalesce(p_key, ''), 'expires_at', to_char(v_expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
            'about', stepwell._value_digest(p_tenant_id, 'approval:' || v_approval_id || ':about', v_about))), 'pic_human', null, v_now);
    perform stepwell._event_append(p_tenant_id, p_subject_unit_id, 'approval.opened', p_actor,
        jsonb_build_object('approval_id', v_approval_id, 'action', p_action));
    insert into stepwell.approval_detail (
        tenant_id, approval_id, action, subject_unit_id, tier, quorum, requested_by, reason, requested_at, expires_at,
        request_key, acting, approvers, approver_role, about)
    values (p_tenant_id, v_approval_id, p_action, p_subject_unit_id, p_tier, p_quorum, p_actor, v_reason, v_now, v_expires_at,
        p_key, p_acting, p_approvers, v_role, v_about);
    insert into stepwell.timer (tenant_id, unit_id, timer_kind, due_at)
    values (p_tenant_id, v_approval_id, 'approval_expiry', v_expires_at);
    perform stepwell._evidence_ask(p_tenant_id, p_subject_unit_id);
    -- The run checks its open approvals after each change.
    update stepwell.run_progress as p set needs_attention = true
    where p.tenant_id = p_tenant_id and p.run_id = stepwell._run_of(p_subject_unit_id) and not p.needs_attention;
    return v_approval_id;
end
$$;

-- A value in which every character of its names and texts can be seen.
create or replace function stepwell._visible_value(p_value jsonb) returns jsonb
language plpgsql immutable parallel safe
set search_path = stepwell, pg_temp
as $$
begin
    return case jsonb_typeof(p_value)
        when 'object' then (select coalesce(jsonb_object_agg(stepwell._visible(e.key), stepwell._visible_value(e.value)), '{}')
            from jsonb_each(p_value) as e)
        when 'array' then (select coalesce(jsonb_agg(stepwell._visible_value(i.value) order by i.ord), '[]')
            from jsonb_array_elements(p_value) with ordinality as i (value, ord))
        when 'string' then to_jsonb(stepwell._visible(p_value #>> '{}'))
        else p_value end;
end
$$;

-- The digest of what an approval shows: every column of it except how it ended, the name of its subject, what a replay
-- would repeat, and the rules that a change of policy would put in force. A column that is added later is part of it.
create or replace function stepwell._approval_shown(p_approval stepwell.approval_detail) returns text
language sql stable
set search_path = stepwell, pg_temp
set timezone = 'UTC'
as $$
    select encode(sha256(convert_to((to_jsonb(p_approval) - 'decided_at' - 'decided_by' || jsonb_build_object(
        'title', stepwell._title_of(p_approval.tenant_id, p_approval.subject_unit_id),
        'workflow', (select w.workflow_name from stepwell.run_detail as r
            inner join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
            where r.tenant_id = p_approval.tenant_id and r.run_id = stepwell._run_of(p_approval.subject_unit_id)),
        'replays', (select jsonb_agg(q.idempotency_key order by q.unit_id) from stepwell.dlq_replay_request as q
            where q.tenant_id = p_approval.tenant_id and q.approval_id = p_approval.approval_id),
        'rules', (select stepwell._policy_hash(s.rules) from stepwell.policy_set as s
            where s.tenant_id = p_approval.tenant_id and s.approval_id = p_approval.approval_id)))::text, 'UTF8')), 'hex')
$$;

-- Refuses approvers and a role that avoid the role of the settings: whoever asks does not choose who may agree.
-- Raises: SW007 when the settings name another role for the tier, or a named approver does not have it.
create or replace function stepwell._approval_role_check(p_tenant_id int, p_tier int, p_approvers text[], p_role text) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_role constant text := (select c.config_value #>> '{}' from stepwell.dot_config as c
        where c.config_key = 'approval.role.' || (array['low', 'med', 'high'])[p_tier]);
begin
    if v_role is not null and (p_role <> v_role or exists (select from unnest(p_approvers) as a (name)
        where not exists (select from stepwell.person as p
            inner join stepwell.person_role as r on p.tenant_id = r.tenant_id and p.person_id = r.person_id
            where p.tenant_id = p_tenant_id and p.name_key = stepwell._name_fold(a.name) and r.role_name = v_role))) then
        raise exception using errcode = 'SW007', column = case when p_role <> v_role then 'role' else 'approvers' end,
            message = format('the settings let only the role %s decide approvals of this tier', v_role);
    end if;
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
    v_name text;
begin
    if v_key = stepwell._actor_plain(p_approval.requested_by) then
        raise exception using errcode = 'SW007', message = 'the requester of an approval cannot decide it';
    end if;
    if v_key = stepwell._actor_plain(p_approval.acting) then
        raise exception using errcode = 'SW007', message = 'the actor of an approval cannot decide it';
    end if;
    if v_key = any (stepwell._approval_barred(p_approval)) then
        raise exception using errcode = 'SW007', message = format(
            'who started, scheduled, published or repeated what an approval is about cannot decide it: %s', p_actor);
    end if;
    select p.person_name into v_name from stepwell.person as p
    where p.tenant_id = p_approval.tenant_id and p.name_key = v_key and p.is_active;
    if not found then
        raise exception using errcode = 'SW007', column = 'actor', hint = stepwell._person_hint(p_approval.tenant_id, p_actor),
            message = format('only a person can decide an approval; no person is called %s', coalesce(p_actor, '(none)'));
    end if;
    if not stepwell._approval_eligible(p_approval, v_key) then
        raise exception using errcode = 'SW007', message = format('approval %s can only be decided by %s', stepwell._unit_ref(p_approval.approval_id),
            concat_ws(' or ', nullif(array_to_string(p_approval.approvers, ', '), ''), 'the role ' || p_approval.approver_role));
    end if;
    return v_name;
end
$$;

-- The digest of what an approval shows, for whoever sees what it shows: a value could be guessed from it.
create or replace view stepwell.v_approval_digest with (security_barrier = true) as
select a.tenant_id, a.approval_id, stepwell._approval_shown(a) as shown_digest
from stepwell.approval_detail as a
where (select stepwell.payload_tenant()) in (0, a.tenant_id) or stepwell._approval_is_asked(a.tenant_id, a.approval_id);

-- Approvals: their subject, its run if it belongs to one, who requested them, how many must agree, who has decided, until
-- when, and the digest of what they show: a decision names it.
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
    (
        select y.about from stepwell.v_approval_payload as y
        where y.tenant_id = a.tenant_id and y.approval_id = a.approval_id
    ) as about,
    (
        select y.shown_digest from stepwell.v_approval_digest as y
        where y.tenant_id = a.tenant_id and y.approval_id = a.approval_id
    ) as shown_digest
from stepwell.approval_detail as a
inner join stepwell.work_unit as u on a.tenant_id = u.tenant_id and a.approval_id = u.unit_id
left join stepwell.work_unit as s on a.tenant_id = s.tenant_id and a.subject_unit_id = s.unit_id;
