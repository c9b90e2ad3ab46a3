-- Purpose: what stands against one requested change of one unit: no problem means that it holds. The only place where a
--   request is judged. An expression without settings of its own, so that it becomes part of the statement that asks.
-- Locks: none.
-- Idempotency: reads only, but for the refusals _payload_judge keeps.
-- Raises: nothing.
create or replace function stepwell._transition_problems(
    p_unit stepwell.work_unit, p_rule stepwell.transition_rule, p_from_state text, p_to_state text, p_evidence jsonb,
    p_payload jsonb, p_released_count int, p_lease_no int, p_actor_class text, p_by_engine boolean, p_trigger_kind text,
    p_trigger_ref text, p_session_id bigint, p_actor text, p_now timestamptz, p_preview boolean
) returns text[]
language sql volatile
as $$
    select array_remove(array[
        case when p_unit.unit_id is null then 'unit_not_found' end,
        case when p_from_state <> p_unit.state_code then 'state_is_' || p_unit.state_code end,
        case when p_lease_no is not null
            and (p_lease_no <> p_unit.lease_no or p_unit.lease_session_id is distinct from p_session_id)
            then 'lease_lost' end,
        case when p_unit.unit_id is not null and p_rule.transition_id is null
            then format('no_transition:%s->%s by %s', p_unit.state_code, p_to_state, p_actor_class) end,
        case when p_rule.proposed then 'transition_is_only_proposed:' || p_rule.transition_id end,
        case when not p_by_engine and (p_rule.trigger_kind <> p_trigger_kind or p_rule.trigger_ref <> p_trigger_ref)
            then format('trigger_must_be:%s %s', p_rule.trigger_kind, p_rule.trigger_ref) end,
        case when not p_rule.event_is_registered then 'event_type_not_registered:' || p_rule.event_type end,
        case when p_rule.audit_required and p_session_id is null and p_evidence ->> 'audit_ref' is null
            then 'audit_ref_required' end,
        case p_rule.guard_kind when 'predicate_fn' then
            case when case p_rule.guard_ref
                when 'preconditions_met' then p_unit.pending_count = coalesce(p_released_count, 0)
                when 'executor_lease_granted' then p_session_id is not null and p_unit.operation_id is not null
                when 'retry_budget_left' then p_session_id is not null and p_unit.attempt_count < p_unit.max_attempts
                when 'failure_classified' then p_payload ->> 'classification' in ('transient', 'permanent')
                else (p_rule.guard_ref = 'output_contract_met' and not p_unit.has_contract)
                    or stepwell._guard_named(p_rule.guard_ref, p_unit, p_evidence, p_actor, p_now)
            end then null else 'transition_refused_by_guard:' || p_rule.guard_ref end
        when 'config' then
            case when stepwell._guard_expression(p_rule.guard_ref, p_unit, p_evidence)
                then null else 'transition_refused_by_guard:' || p_rule.guard_ref end
        end,
        case when p_rule.event_has_contract and (p_payload is not null or p_rule.event_requires_payload)
            then stepwell._payload_judge(p_unit.tenant_id, p_unit.unit_id, p_rule.event_type, p_payload, p_now, p_preview) end
    ], null)
$$;
