-- Purpose: proposes a rule set: a new version with what it changes, put to the reviewers. It judges nothing until its
--   approval is granted.
-- Locks: none beyond the new rows; two proposals at once get different versions, one of them by another try.
-- Idempotency: none; the rules in force are refused as no change.
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
    v_proposal_id constant bigint := nextval('stepwell.stream_seq') << 20;
    v_problem record;
    v_base record;
    v_made record;
    v_approval_id bigint;
    v_diff jsonb;
begin
    perform stepwell._tenant_bound(p_tenant_id);
    if octet_length(p_source) > stepwell._limit('limits.payload_bytes') then
        raise exception using errcode = 'SW006', message = 'source: larger than the limit';
    end if;
    select c.rule_no, c.field, c.problem into v_problem from stepwell.fn_policy_check(p_rules) as c limit 1;
    if found then
        raise exception using errcode = 'SW001', column = 'rules', message = format('rule %s: %s: %s', v_problem.rule_no,
            coalesce(v_problem.field, 'rule'), v_problem.problem);
    end if;
    select s.policy_set_id, s.rules into v_base
    from stepwell.policy_active as a
    inner join stepwell.policy_set as s on a.tenant_id = s.tenant_id and a.policy_set_id = s.policy_set_id
    where a.tenant_id = p_tenant_id;
    if v_base.rules = p_rules then
        raise exception using errcode = 'SW003', message = 'these rules are in force already';
    end if;
    v_diff := stepwell._policy_diff(v_base.rules, p_rules);
    insert into stepwell.work_unit (
        tenant_id, unit_id, last_transition_at, started_at, scope, state_machine_id, state_code)
    values (p_tenant_id, v_proposal_id, v_now, v_now, 'proposal', stepwell._machine_of('proposal'), 'draft');
    insert into stepwell.event_log (tenant_id, at, stream_id, unit_id, event_type, to_state, actor_class, actor, payload)
    values (p_tenant_id, v_now, v_proposal_id >> 20, v_proposal_id, 'proposal.drafted', 'draft', 'pic_human', p_actor,
        jsonb_build_object('kind', 'policy', 'rules_hash', stepwell._policy_hash(p_rules)));
    perform stepwell._must_apply(array[p_tenant_id], array[v_proposal_id], 'submitted', 'pic_human', 'rpc', 'proposal_submit',
        p_actor, array[jsonb_build_object('audit_ref', 'actor:' || p_actor)]);
    v_approval_id := stepwell._approval_request(p_tenant_id, 'proposal', v_proposal_id, p_actor,
        coalesce(p_reason, 'a change of policy'), 3, stepwell._limit('approval.quorum.policy'),
        p_about => jsonb_build_object('kind', 'policy', 'diff', v_diff, 'rules_hash', stepwell._policy_hash(p_rules)));
    perform stepwell._must_apply(array[p_tenant_id], array[v_proposal_id], 'review', 'system', 'event', 'approval_requested',
        'engine');
    insert into stepwell.policy_set (tenant_id, version_no, rules, rules_hash, source, base_policy_set_id, diff,
        proposal_id, approval_id, proposed_by, proposed_at, reason)
    select p_tenant_id, coalesce(max(s.version_no), 0) + 1, p_rules, stepwell._policy_hash(p_rules), p_source,
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
