-- Purpose: the receipt of a key, if there is one, locked, and whether it settles the matter: done before, of another action,
--   in the hands of somebody else, or written by this very call. Null as decision: the caller goes on.
-- Locks: the receipt.
-- Idempotency: locks only.
-- Raises: nothing.
create or replace function stepwell._receipt_found(
    p_tenant_id int, p_unit_id bigint, p_lease_no int, p_action jsonb,
    out receipt_id bigint, out state_code text, out reply jsonb
)
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_receipt stepwell.action_receipt;
begin
    select r.* into v_receipt from stepwell.action_receipt as r
    where r.tenant_id = p_tenant_id and r.idempotency_key = p_action ->> 'key';
    if not found then
        return;
    end if;
    select u.unit_id, u.state_code into receipt_id, state_code from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = v_receipt.receipt_id
    for update of u;
    -- Read again: it may have been settled while this waited.
    select r.* into v_receipt from stepwell.action_receipt as r
    where r.tenant_id = p_tenant_id and r.receipt_id = v_receipt.receipt_id;
    reply := jsonb_build_object('receipt_id', receipt_id, 'idempotency_key', p_action ->> 'key');
    if v_receipt.action_hash <> p_action ->> 'hash' then
        reply := reply || jsonb_build_object('decision', 'conflict', 'reason', format(
            'key %s belongs to %s.%s on %s, with other fields or another target', p_action ->> 'key', v_receipt.connector,
            v_receipt.operation, v_receipt.target));
    elsif state_code in ('confirmed', 'reversed') then
        reply := reply || jsonb_build_object('decision', 'cached', 'result', v_receipt.response_metadata -> 'result',
            'external_id', v_receipt.external_id);
    elsif state_code = 'void' then
        reply := null;
    elsif state_code = 'intended' and v_receipt.unit_id = p_unit_id and v_receipt.lease_no = p_lease_no
        and v_receipt.intent_token = p_action ->> 'token' then
        -- The same question of the same call again: its answer was lost on the way, and nothing has been done since.
        reply := reply || jsonb_build_object('decision', 'go');
    elsif v_receipt.unit_id <> p_unit_id or (v_receipt.lease_no = p_lease_no and state_code = 'intended') then
        reply := reply || jsonb_build_object('decision', 'busy', 'reason', format(
            'the same action is in the hands of unit %s (receipt %s, %s)', v_receipt.unit_id, receipt_id, state_code));
    else
        reply := null;
    end if;
end
$$;
