-- Purpose: a handler is about to act on another system: may it? Looks for the receipt of the key, judges by policy, asks for
--   an approval where one is needed, and, when the way is free, writes the receipt as intended before anything happens.
--   Decisions: go, cached, doubt, busy, conflict, deny, wait, rejected, expired, cancelled.
-- Locks: the run where an approval is needed; the unit (shared) so that the lease holds; then the receipt; then the run's write count.
-- Idempotency: by (tenant, idempotency key): a confirmed effect is handed back, never made again.
-- Raises: SW001 and SW006 for an action that cannot be read; SW005 when the lease is no longer held; SW007 for
--   another tenant; 40001 to try again.
create or replace function stepwell.fn_action_propose(
    p_session_id bigint, p_tenant_id int, p_unit_id bigint, p_lease_no int, p_action jsonb, p_fault text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_action jsonb;
    v_document jsonb;
    v_verdict jsonb;
    v_receipt record;
    v_approval_id bigint;
    v_permit text;
    v_decision_id bigint;
begin
    perform stepwell._tenant_bound(p_tenant_id);
    v_action := stepwell._action_read(p_tenant_id, p_unit_id, p_action);
    v_document := stepwell._action_document(p_session_id, p_tenant_id, p_unit_id, v_action);
    -- Judged before the lease is held: a slow rule keeps nobody from cancelling.
    v_verdict := case when p_fault is null then stepwell.fn_policy_evaluate(p_tenant_id, v_document)
        else jsonb_build_object('effect', 'deny', 'reason_code', p_fault, 'reason', 'the policy gave no answer in time') end;
    if v_verdict ->> 'effect' = 'needs_approval' then
        -- A question marks the run; whoever marks a run holds it before its units.
        perform stepwell._runs_lock(array[p_tenant_id], array[p_unit_id]);
    end if;
    perform stepwell._lease_hold(p_session_id, p_tenant_id, p_unit_id, p_lease_no);
    select f.* into v_receipt from stepwell._receipt_found(p_tenant_id, p_unit_id, p_lease_no, v_action) as f;
    if v_receipt.reply is not null then
        return v_receipt.reply;
    end if;
    v_verdict := stepwell._reversal_judge(p_tenant_id, v_action, v_verdict);
    v_permit := v_verdict ->> 'effect';
    if v_permit = 'needs_approval' then
        v_approval_id := stepwell._action_approval(p_tenant_id, p_unit_id, v_action, v_document, v_verdict);
        select case u.state_code when 'approved' then 'allow' when 'requested' then 'wait' else u.state_code end into v_permit
        from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id = v_approval_id;
    end if;
    if v_permit = 'allow' and (v_receipt.receipt_id is null or v_receipt.state_code = 'void')
        and v_action ->> 'writes' = 'true' and not stepwell._writes_take(p_tenant_id, p_unit_id) then
        v_permit := 'deny';
        v_verdict := v_verdict - 'tier' || jsonb_build_object('effect', 'deny', 'reason_code', 'writes_exhausted',
            'reason', 'this run has made as many writes as it may');
    end if;
    v_decision_id := stepwell._action_record(p_tenant_id, p_unit_id, p_lease_no, 'session:' || p_session_id, v_action,
        v_verdict, v_approval_id);
    if v_receipt.receipt_id is not null and v_receipt.state_code <> 'void' then
        -- An earlier attempt got as far as this and nobody knows how much farther. This attempt takes it over.
        perform stepwell._receipt_take_over(p_session_id, p_tenant_id, v_receipt.receipt_id, p_lease_no);
        return jsonb_build_object('decision', 'doubt', 'receipt_id', v_receipt.receipt_id, 'may_perform', v_permit = 'allow',
            'idempotency_key', v_action ->> 'key', 'reason', v_verdict ->> 'reason');
    end if;
    return jsonb_strip_nulls(jsonb_build_object(
        'decision', case v_permit when 'allow' then 'go' else v_permit end,
        'receipt_id', case when v_permit = 'allow' then stepwell._receipt_intend(p_session_id, p_tenant_id, p_unit_id,
            p_lease_no, v_action, v_document, v_decision_id, v_approval_id, v_receipt.receipt_id) end,
        'idempotency_key', v_action ->> 'key', 'reason_code', v_verdict ->> 'reason_code', 'reason', v_verdict ->> 'reason',
        'rule', v_verdict ->> 'rule', 'approval_id', v_approval_id));
end
$$;
