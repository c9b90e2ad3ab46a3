-- Purpose: frees the concurrency slots of units that stopped running (ended, failed, parked or released).
-- Locks: concurrency_slot rows in key order.
-- Idempotency: none; each unit that held a slot is handed in once.
-- Raises: nothing.
create or replace function stepwell._slots_free(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language sql volatile
set search_path = stepwell, pg_temp
as $$
    select stepwell._slots_fill(array_agg(k.tenant_id), array_agg(k.slot_key), array_agg(k.freed_count))
    from (
        select u.tenant_id, u.slot_key, count(*)::int as freed_count
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        where u.slot_key is not null
        group by u.tenant_id, u.slot_key
        order by u.tenant_id, u.slot_key
    ) as k
$$;
