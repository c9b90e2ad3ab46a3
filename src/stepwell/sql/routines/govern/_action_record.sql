-- Purpose: a verdict on record: one row and one event of the step.
-- Locks: none beyond the new rows.
-- Idempotency: none; every judgement is on record.
-- Raises: nothing of its own.
create or replace function stepwell._action_record(
    p_tenant_id int, p_unit_id bigint, p_lease_no int, p_actor text, p_action jsonb, p_verdict jsonb, p_approval_id bigint
) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_target constant text := stepwell._redact_text(p_action ->> 'target');
    v_decision_id bigint;
begin
    insert into stepwell.policy_decision (
        tenant_id, unit_id, lease_no, idempotency_key, connector, operation, target, action_hash, effect, reason_code, reason,
        policy_set_id, rule_name, tier, two_person, approval_id, decided_at)
    values (p_tenant_id, p_unit_id, p_lease_no, p_action ->> 'key', p_action ->> 'connector', p_action ->> 'operation',
        v_target, p_action ->> 'hash', p_verdict ->> 'effect', p_verdict ->> 'reason_code', p_verdict ->> 'reason',
        (p_verdict ->> 'policy_set_id')::bigint, p_verdict ->> 'rule', p_verdict ->> 'tier',
        coalesce((p_verdict ->> 'two_person')::boolean, false), p_approval_id, stepwell.now())
    returning decision_id into v_decision_id;
    perform stepwell._event_append(p_tenant_id, p_unit_id, 'action.judged', p_actor, jsonb_strip_nulls(jsonb_build_object(
        'effect', p_verdict ->> 'effect', 'reason_code', p_verdict ->> 'reason_code', 'reason', p_verdict ->> 'reason',
        'connector', p_action ->> 'connector', 'operation', p_action ->> 'operation', 'target', v_target,
        'idempotency_key', p_action ->> 'key', 'action_hash', p_action ->> 'hash', 'rule', p_verdict ->> 'rule',
        'policy_version', p_verdict -> 'policy_version', 'approval_id', p_approval_id)), 'executor_worker');
    return v_decision_id;
end
$$;
