-- Purpose: what a worker needs to undo an effect: connector, operation, target and fields of the way back.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when there is no such receipt; SW004 when its effect cannot be reversed; SW007 for another
--   tenant.
create or replace function stepwell.fn_action_reversal(p_tenant_id int, p_receipt_id bigint) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_receipt stepwell.action_receipt;
begin
    perform stepwell._tenant_bound(p_tenant_id);
    select r.* into v_receipt from stepwell.action_receipt as r
    where r.tenant_id = p_tenant_id and r.receipt_id = p_receipt_id;
    if not found then
        raise exception using errcode = 'SW002', message = format('receipt %s does not exist', p_receipt_id);
    end if;
    if v_receipt.reversal is null then
        raise exception using errcode = 'SW004', message = format('the effect of receipt %s cannot be reversed', p_receipt_id);
    end if;
    return v_receipt.reversal || jsonb_build_object('connector', v_receipt.connector);
end
$$;
