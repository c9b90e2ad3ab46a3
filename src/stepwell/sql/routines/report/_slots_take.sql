-- Purpose: puts units with a concurrency key in line and lets in as many as their key has free slots.
-- Locks: concurrency_slot rows in key order.
-- Idempotency: a unit stands in line once.
-- Raises: nothing.
create or replace function stepwell._slots_take(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_tenant_ids int[];
    v_keys text[];
begin
    with lined as (
        insert into stepwell.job_line (tenant_id, slot_key, rank, unit_id)
        select u.tenant_id, u.slot_key, -u.priority, u.unit_id
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        left join stepwell.run_progress as p on u.tenant_id = p.tenant_id and u.unit_id >> 20 = p.run_id
        where u.slot_key is not null and u.class_id is not null and p.frozen_at is null
        on conflict do nothing
        returning tenant_id, slot_key
    ), keys as (
        select distinct l.tenant_id, l.slot_key from lined as l
    )
    select array_agg(k.tenant_id order by k.tenant_id, k.slot_key), array_agg(k.slot_key order by k.tenant_id, k.slot_key)
    into v_tenant_ids, v_keys
    from keys as k;
    perform stepwell._slots_fill(v_tenant_ids, v_keys, null);
end
$$;
