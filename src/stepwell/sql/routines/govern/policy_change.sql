-- A policy is a set of rules. A new set is proposed, approved and put in force; it is never changed afterwards.

-- Proposes a rule set: a new version, with what it changes, and an approval. It judges nothing until its approval is
-- granted.
-- Locks: none beyond the new rows; two proposals at once get different versions, one of them after a retry.
-- Idempotency: none; the rules in force are refused, because nothing would change.
-- Raises: SW001 naming the first problem of the rules; SW003 when nothing would change; SW006 over a limit; SW007 for
--   another tenant.
create or replace function stepwell.fn_policy_propose(
    p_tenant_id int, p_rules jsonb, p_source text, p_actor text, p_reason text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_proposal_id constant bigint := stepwell._run_unit(nextval('stepwell.run_seq'));
    v_problem record;
    v_base record;
    v_made record;
    v_approval_id bigint;
    v_diff jsonb;
begin
    p_reason := stepwell._redact_text(p_reason);
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'policy.change');
    if octet_length(p_source) > stepwell._limit('limits.payload_bytes') then
        raise exception using errcode = 'SW006', message = format('source: at most %s bytes are accepted',
            stepwell._limit('limits.payload_bytes'));
    end if;
    select c.rule_no, c.field, c.problem into v_problem
    from (
        select x.rule_no, x.field, x.problem from stepwell.fn_policy_check(p_rules) as x
        union all
        select x.rule_no, 'match', x.problem from stepwell._policy_refusals(p_rules) as x
    ) as c limit 1;
    if found then
        raise exception using errcode = 'SW001', column = 'rules', message = format('rule %s: %s: %s', v_problem.rule_no,
            coalesce(v_problem.field, 'rule'), v_problem.problem);
    end if;
    -- What approvers see is what is judged, so nothing of it can be redacted. An expression may name and compare a field.
    perform stepwell._secret_refuse('rules', m.value #>> '{}')
    from jsonb_array_elements(p_rules) as r (body)
    cross join lateral jsonb_each(r.body - 'match') as m;
    select s.policy_set_id, s.rules into v_base
    from stepwell.policy_active as a
    inner join stepwell.policy_set as s on a.tenant_id = s.tenant_id and a.policy_set_id = s.policy_set_id
    where a.tenant_id = p_tenant_id;
    if v_base.rules = p_rules then
        raise exception using errcode = 'SW003', message = 'rules: these rules are already in force';
    end if;
    v_diff := stepwell._policy_diff(v_base.rules, p_rules);
    insert into stepwell.work_unit (
        tenant_id, unit_id, last_transition_at, started_at, scope, state_machine_id, state_code)
    values (p_tenant_id, v_proposal_id, v_now, v_now, 'proposal', stepwell._machine_of('proposal'), 'draft');
    perform stepwell._event_born(p_tenant_id, v_proposal_id, 'proposal.drafted', 'draft', p_actor,
        jsonb_build_object('kind', 'policy', 'rules_hash', stepwell._policy_hash(p_rules)), 'pic_human', null, v_now);
    perform stepwell._units_move(array[p_tenant_id], array[v_proposal_id], 'submitted', 'pic_human', 'rpc', 'proposal_submit',
        p_actor, array[jsonb_build_object('audit_ref', 'actor:' || p_actor)]);
    v_approval_id := stepwell._approval_request(p_tenant_id, 'proposal', v_proposal_id, p_actor,
        coalesce(p_reason, 'a change of policy'), 3, stepwell._limit('approval.quorum.policy'),
        p_about => jsonb_build_object('kind', 'policy', 'diff', v_diff, 'rules_hash', stepwell._policy_hash(p_rules)));
    perform stepwell._units_move(array[p_tenant_id], array[v_proposal_id], 'review', 'system', 'event', 'approval_requested',
        'engine');
    insert into stepwell.policy_set (tenant_id, version_no, rules, rules_hash, source, base_policy_set_id, diff,
        proposal_id, approval_id, proposed_by, proposed_at, reason)
    select p_tenant_id, coalesce(max(s.version_no), 0) + 1, p_rules, stepwell._policy_hash(p_rules), stepwell._redact_text(p_source),
        v_base.policy_set_id, v_diff, v_proposal_id, v_approval_id, p_actor, v_now, p_reason
    from stepwell.policy_set as s
    where s.tenant_id = p_tenant_id
    returning policy_set_id, version_no into v_made;
    return jsonb_build_object('version_no', v_made.version_no, 'proposal_id', v_proposal_id, 'approval_id', v_approval_id,
        'state', 'review', 'diff', v_diff);
exception when unique_violation then
    raise exception using errcode = '40001', message = 'another proposal took this version; try again';
end
$$;

-- The rules whose match no action bounds, by the number of the rule. They are not proposed; a set in force that has one
-- goes on, because every evaluation is bounded.
create or replace function stepwell._policy_refusals(p_rules jsonb) returns table (rule_no int, problem text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select r.ord::int, p.problem
    from jsonb_array_elements(case jsonb_typeof(p_rules) when 'array' then p_rules else '[]' end) with ordinality as r (body, ord)
    cross join lateral (select stepwell._path_refusal(r.body ->> 'match')) as p (problem)
    where jsonb_typeof(r.body -> 'match') = 'string' and p.problem is not null
    order by 1
$$;

-- Puts the first rule set of a new installation in force without an approval, because nobody can approve yet. Only the
-- operator can call it; every later change requires its approval.
-- Locks: the proposal, then its approval, then the tenant's row in policy_active.
-- Idempotency: the version in force stays in force.
-- Raises: SW002 when there is no such version; SW003 when another one is in force, or the proposal has ended; SW007 for
--   another tenant, and for whoever is not the operator.
create or replace function stepwell.fn_policy_activate(p_tenant_id int, p_version_no int, p_actor text) returns text
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_policy stepwell.policy_set;
    v_active_no int;
begin
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'policy.change');
    perform stepwell._operator_check('puts a policy in force without an approval');
    select s.* into v_policy from stepwell.policy_set as s
    where s.tenant_id = p_tenant_id and s.version_no = p_version_no;
    if not found then
        raise exception using errcode = 'SW002', message = format('policy version %s does not exist', p_version_no);
    end if;
    perform stepwell._runs_and_jobs_lock(array[p_tenant_id, p_tenant_id], array[v_policy.proposal_id, v_policy.approval_id]);
    select s.version_no into v_active_no
    from stepwell.policy_active as a
    inner join stepwell.policy_set as s on a.tenant_id = s.tenant_id and a.policy_set_id = s.policy_set_id
    where a.tenant_id = p_tenant_id;
    if v_active_no = p_version_no then
        return 'active';
    end if;
    if v_active_no is not null then
        raise exception using errcode = 'SW003', message = format(
            'version %s is in force; version %s replaces it when approval %s is granted', v_active_no, p_version_no,
            stepwell._unit_ref(v_policy.approval_id));
    end if;
    if not exists (select from stepwell.work_unit as u where u.tenant_id = p_tenant_id
        and u.unit_id = v_policy.proposal_id and u.state_code = 'review') then
        raise exception using errcode = 'SW003', message = format('the proposal of version %s has ended; propose the rules again', p_version_no);
    end if;
    perform stepwell._units_move(array[p_tenant_id], array[v_policy.proposal_id], 'merged', 'system', 'rpc',
        'policy_activate', p_actor, array[jsonb_build_object('audit_ref', 'actor:' || p_actor)]);
    perform stepwell._policy_put(v_policy, p_actor, null);
    perform stepwell._units_move(array[p_tenant_id], array[v_policy.approval_id], 'cancelled', 'system',
        'condition_resolved', 'subject_ended', p_actor);
    perform stepwell._approvals_close(array[p_tenant_id], array[v_policy.approval_id], p_actor);
    return 'active';
end
$$;

-- The approval of a policy change has ended. Granted: the proposal is merged and its rules are in force. Otherwise: it
-- is rejected. A proposal that is no policy is left alone, and another approval about it than its own decides nothing.
-- Locks: the caller holds the proposal and the approval; then the tenant's row in policy_active.
-- Raises: SW003 when the rules in force have changed meanwhile; SW004 when the registry refuses.
create or replace function stepwell._policy_decided(
    p_tenant_id int, p_approval_id bigint, p_proposal_id bigint, p_state text, p_actor text
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_evidence constant jsonb := jsonb_build_object('approval_id', p_approval_id, 'audit_ref', 'approval:' || p_approval_id);
    v_policy stepwell.policy_set;
begin
    select s.* into v_policy from stepwell.policy_set as s
    where s.tenant_id = p_tenant_id and s.proposal_id = p_proposal_id and s.approval_id = p_approval_id;
    if not found then
        return;
    end if;
    if p_state <> 'approved' then
        perform stepwell._units_move(array[p_tenant_id], array[p_proposal_id], 'rejected', 'reviewer', 'rpc',
            'proposal_decide', p_actor, array[v_evidence], array[jsonb_build_object('reason', 'approval ' || p_state)]);
        return;
    end if;
    perform stepwell._units_move(array[p_tenant_id], array[p_proposal_id], 'approved', 'reviewer', 'rpc', 'proposal_decide',
        p_actor, array[v_evidence]);
    perform stepwell._policy_put(v_policy, p_actor, p_approval_id);
    perform stepwell._units_move(array[p_tenant_id], array[p_proposal_id], 'merged', 'system', 'rpc', 'proposal_merge',
        'engine', array[v_evidence]);
end
$$;

-- Puts a rule set in force, with its event.
-- Locks: the row of the tenant in policy_active; the caller holds the proposal.
-- Raises: SW003 when the rules in force are not those with which the proposal was compared.
create or replace function stepwell._policy_put(p_policy stepwell.policy_set, p_actor text, p_approval_id bigint) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    if p_policy.base_policy_set_id is null then
        insert into stepwell.policy_active (tenant_id, policy_set_id, activated_at, activated_by)
        values (p_policy.tenant_id, p_policy.policy_set_id, stepwell.now(), p_actor)
        on conflict (tenant_id) do nothing;
    else
        update stepwell.policy_active as a
        set policy_set_id = p_policy.policy_set_id, activated_at = stepwell.now(), activated_by = p_actor
        where a.tenant_id = p_policy.tenant_id and a.policy_set_id = p_policy.base_policy_set_id;
    end if;
    if not found then
        raise exception using errcode = 'SW003', message = format(
            'version %s was compared with rules that are no longer in force; propose it again', p_policy.version_no);
    end if;
    perform stepwell._event_append(p_policy.tenant_id, p_policy.proposal_id, 'policy.activated', p_actor,
        jsonb_strip_nulls(jsonb_build_object('version_no', p_policy.version_no, 'rules_hash', p_policy.rules_hash,
            'approval_id', p_approval_id)), 'reviewer');
end
$$;

-- What a new rule set changes: rules added, removed and changed, by name.
create or replace function stepwell._policy_diff(p_old jsonb, p_new jsonb) returns jsonb
language sql immutable
set search_path = stepwell, pg_temp
as $$
    with pair as (
        select o.body as old_rule, n.body as new_rule
        from (select r.body from jsonb_array_elements(coalesce(p_old, '[]')) as r (body)) as o
        full join (select r.body from jsonb_array_elements(p_new) as r (body)) as n
            on o.body ->> 'name' = n.body ->> 'name'
    )
    select jsonb_build_object(
        'added', coalesce(jsonb_agg(p.new_rule order by (p.new_rule ->> 'priority')::int)
            filter (where p.old_rule is null), '[]'),
        'removed', coalesce(jsonb_agg(p.old_rule order by (p.old_rule ->> 'priority')::int)
            filter (where p.new_rule is null), '[]'),
        'changed', coalesce(jsonb_agg(jsonb_build_object('old', p.old_rule, 'new', p.new_rule)
            order by (p.new_rule ->> 'priority')::int)
            filter (where p.old_rule is not null and p.new_rule is not null and p.old_rule <> p.new_rule), '[]'))
    from pair as p
$$;

-- Refuses every change and deletion of a rule set, for the owner too.
-- Raises: SW007.
create or replace function stepwell._policy_set_refuse() returns trigger
language plpgsql
set search_path = stepwell, pg_temp
as $$
begin
    raise exception using errcode = 'SW007', message = format('a rule set cannot be changed: %s is refused', lower(tg_op)),
        hint = 'propose another version';
end
$$;
create or replace trigger policy_sets_are_final
before update or delete or truncate on stepwell.policy_set
for each statement execute function stepwell._policy_set_refuse();
