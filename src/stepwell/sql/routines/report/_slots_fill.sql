-- Purpose: gives back slots that ended and lets the next in line in: the slot is handed on in one step.
-- Locks: concurrency_slot rows in key order.
-- Idempotency: none; called once per ended holder.
-- Raises: nothing.
create or replace function stepwell._slots_fill(p_tenant_ids int[], p_keys text[], p_freed_counts int[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    if p_keys is null then
        return;
    end if;
    perform 1
    from stepwell.concurrency_slot as s
    inner join unnest(p_tenant_ids, p_keys) as q (tenant_id, slot_key)
        on s.tenant_id = q.tenant_id and s.slot_key = q.slot_key
    order by s.tenant_id, s.slot_key
    for update of s;
    with freed as (
        select s.tenant_id, s.slot_key, s.max_count, greatest(s.used_count - coalesce(q.freed_count, 0), 0) as used_count
        from stepwell.concurrency_slot as s
        inner join unnest(p_tenant_ids, p_keys, p_freed_counts) as q (tenant_id, slot_key, freed_count)
            on s.tenant_id = q.tenant_id and s.slot_key = q.slot_key
    ), next as (
        select f.tenant_id, f.slot_key, n.rank, n.unit_id
        from freed as f
        cross join lateral (
            select l.rank, l.unit_id
            from stepwell.job_line as l
            where l.tenant_id = f.tenant_id and l.slot_key = f.slot_key
            order by l.rank, l.unit_id
            limit greatest(f.max_count - f.used_count, 0)
        ) as n
    ), left_line as (
        delete from stepwell.job_line as l
        using next as n
        where l.tenant_id = n.tenant_id and l.slot_key = n.slot_key and l.rank = n.rank and l.unit_id = n.unit_id
        returning l.tenant_id, l.slot_key, l.rank, l.unit_id
    ), entered as (
        insert into stepwell.job_ready (tenant_id, class_id, rank, unit_id, is_retry)
        select l.tenant_id, u.class_id, l.rank, l.unit_id, u.state_code = 'failed'
        from left_line as l
        inner join stepwell.work_unit as u on l.tenant_id = u.tenant_id and l.unit_id = u.unit_id
        on conflict do nothing
    )
    update stepwell.concurrency_slot as s
    set used_count = f.used_count + (
        select count(*) from left_line as l where l.tenant_id = f.tenant_id and l.slot_key = f.slot_key)
    from freed as f
    where s.tenant_id = f.tenant_id and s.slot_key = f.slot_key;
end
$$;
