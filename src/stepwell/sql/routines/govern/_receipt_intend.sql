-- Purpose: writes down that an effect is about to be made: a receipt, born intended, or one that was void and is tried again.
-- Locks: the receipt that is tried again.
-- Idempotency: by (tenant, idempotency key).
-- Raises: 40001 when another transaction wrote the same key (try again); SW004 when the registry refuses.
create or replace function stepwell._receipt_intend(
    p_session_id bigint, p_tenant_id int, p_unit_id bigint, p_lease_no int, p_action jsonb, p_document jsonb,
    p_decision_id bigint, p_approval_id bigint, p_void_receipt_id bigint
) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_receipt_id constant bigint := coalesce(p_void_receipt_id, nextval('stepwell.stream_seq') << 20);
    v_payload constant jsonb := jsonb_build_object('idempotency_key', p_action ->> 'key', 'unit_id', p_unit_id);
begin
    if p_void_receipt_id is not null then
        perform stepwell._must_apply(array[p_tenant_id], array[v_receipt_id], 'intended', 'executor_worker', 'rpc',
            'action_propose', null, null, array[v_payload], p_session_id => p_session_id);
        update stepwell.action_receipt as r set lease_no = p_lease_no, intent_token = p_action ->> 'token', try_count = r.try_count + 1, settled_at = null,
            response_metadata = null, decision_id = p_decision_id, approval_id = p_approval_id
        where r.tenant_id = p_tenant_id and r.receipt_id = v_receipt_id;
        return v_receipt_id;
    end if;
    insert into stepwell.action_receipt (
        tenant_id, receipt_id, unit_id, run_id, step_id, lease_no, intent_token, idempotency_key, connector, operation, target,
        action_hash, writes, reversible, request_metadata, decision_id, approval_id, requested_by, acting, reverses_receipt_id, intended_at)
    values (p_tenant_id, v_receipt_id, p_unit_id, p_unit_id >> 20, p_document ->> 'step', p_lease_no, p_action ->> 'token',
        p_action ->> 'key', p_action ->> 'connector', p_action ->> 'operation', stepwell._redact_text(p_action ->> 'target'), p_action ->> 'hash',
        (p_action ->> 'writes')::boolean, (p_action ->> 'reversible')::boolean,
        jsonb_build_object('fields', stepwell._redact(p_action -> 'fields', stepwell._redaction_pattern())),
        p_decision_id, p_approval_id, coalesce(p_document ->> 'started_by', 'engine'),
        coalesce(p_document ->> 'actor', 'session:' || p_session_id), (p_action ->> 'reverses')::bigint, v_now);
    insert into stepwell.work_unit (
        tenant_id, unit_id, parent_id, last_transition_at, started_at, scope, state_machine_id, state_code)
    values (p_tenant_id, v_receipt_id, p_unit_id, v_now, v_now, 'receipt', stepwell._machine_of('receipt'), 'intended');
    insert into stepwell.event_log (
        tenant_id, at, stream_id, unit_id, event_type, to_state, actor_class, actor, audit_ref, payload)
    values (p_tenant_id, v_now, v_receipt_id >> 20, v_receipt_id, 'receipt.intended', 'intended', 'executor_worker',
        'session:' || p_session_id, 'session:' || p_session_id, v_payload);
    return v_receipt_id;
exception when unique_violation then
    raise exception using errcode = '40001', message = 'another unit is about to make the same effect; try again';
end
$$;
