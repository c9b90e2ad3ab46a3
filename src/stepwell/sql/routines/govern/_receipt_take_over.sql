-- Purpose: a receipt in doubt passes to the present attempt: whoever held it before settles it no more.
-- Locks: the caller holds the receipt.
-- Idempotency: yes.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._receipt_take_over(
    p_session_id bigint, p_tenant_id int, p_receipt_id bigint, p_lease_no int
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._must_apply(array[u.tenant_id], array[u.unit_id], 'unconfirmed', 'executor_worker', 'rpc', 'action_settle',
        null, null, array['{"reason": "the attempt before this one ended without an answer"}'::jsonb],
        p_session_id => p_session_id)
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = p_receipt_id and u.state_code = 'intended';
    update stepwell.action_receipt as r set lease_no = p_lease_no, try_count = r.try_count + 1
    where r.tenant_id = p_tenant_id and r.receipt_id = p_receipt_id;
end
$$;
