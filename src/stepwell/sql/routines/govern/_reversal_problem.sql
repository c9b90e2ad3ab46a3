-- Purpose: why an effect cannot be undone.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing; null when it can.
create or replace function stepwell._reversal_problem(p_tenant_id int, p_receipt_id bigint) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select case
        when r.receipt_id is null then format('receipt %s does not exist', p_receipt_id)
        when u.state_code = 'reversed' then format('receipt %s is reversed already, by receipt %s', p_receipt_id,
            r.reversed_by_receipt_id)
        when u.state_code <> 'confirmed' then format('receipt %s is %s; only a confirmed effect can be reversed',
            p_receipt_id, u.state_code)
        when not r.reversible or r.reversal is null then format('the effect of receipt %s cannot be reversed', p_receipt_id)
    end
    from (select 1) as one (row_no)
    left join stepwell.action_receipt as r on r.tenant_id = p_tenant_id and r.receipt_id = p_receipt_id
    left join stepwell.work_unit as u on u.tenant_id = r.tenant_id and u.unit_id = r.receipt_id
$$;
