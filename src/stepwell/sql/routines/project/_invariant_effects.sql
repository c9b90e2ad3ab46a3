-- Purpose: faults of effects: a receipt without its unit or a unit without its receipt, a reversal that is not linked both
--   ways, a count of writes that is not that of the receipts.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._invariant_effects()
returns table (invariant text, fault text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select 'effects_agree_with_their_receipts', format('receipt %s has no %s', coalesce(r.receipt_id, u.unit_id),
        case when r.receipt_id is null then 'particulars' else 'unit' end)
    from stepwell.action_receipt as r
    full join (select w.tenant_id, w.unit_id from stepwell.work_unit as w where w.scope = 'receipt') as u
        on r.tenant_id = u.tenant_id and r.receipt_id = u.unit_id
    where r.receipt_id is null or u.unit_id is null
    union all
    select 'effects_agree_with_their_receipts', format('receipt %s is %s, %s', r.receipt_id, u.state_code,
        case when r.reversed_by_receipt_id is null then 'and nothing reversed it'
            else 'but receipt ' || r.reversed_by_receipt_id || ' reversed it' end)
    from stepwell.action_receipt as r
    inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.receipt_id = u.unit_id
    where (u.state_code = 'reversed') <> (r.reversed_by_receipt_id is not null)
    union all
    select 'effects_agree_with_their_receipts', format('run or job %s counts %s writes, its receipts %s', c.unit_id >> 20,
        c.write_count, x.receipt_count)
    from stepwell.run_write_count as c
    cross join lateral (
        select count(*) as receipt_count
        from stepwell.action_receipt as r
        inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.receipt_id = u.unit_id
        where r.tenant_id = c.tenant_id and r.run_id = c.unit_id >> 20 and r.writes and u.state_code <> 'void'
    ) as x
    where c.write_count <> x.receipt_count
$$;
