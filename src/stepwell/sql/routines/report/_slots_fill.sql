-- Purpose: gives back slots that ended and lets the next in line in: the slot is handed on in one step. A key with a rate
--   limit lets in no more than the rate has left; each entry comes back after the rate's time, through _rates_return.
-- Locks: concurrency_slot rows in key order.
-- Idempotency: none; called once per ended holder.
-- Raises: nothing.
create or replace function stepwell._slots_fill(
    p_tenant_ids int[], p_keys text[], p_freed_counts int[], p_token_counts int[] default null
) returns void
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
        select s.tenant_id, s.slot_key, s.max_count, s.rate_count, s.rate_seconds,
            greatest(s.used_count - coalesce(q.freed_count, 0), 0) as used_count,
            greatest(s.rate_used_count - coalesce(q.token_count, 0), 0) as rate_used_count
        from stepwell.concurrency_slot as s
        inner join unnest(p_tenant_ids, p_keys, p_freed_counts, p_token_counts)
            as q (tenant_id, slot_key, freed_count, token_count)
            on s.tenant_id = q.tenant_id and s.slot_key = q.slot_key
    ), next as (
        select f.tenant_id, f.slot_key, n.rank, n.unit_id
        from freed as f
        cross join lateral (
            select l.rank, l.unit_id
            from stepwell.job_line as l
            where l.tenant_id = f.tenant_id and l.slot_key = f.slot_key
            order by l.rank, l.unit_id
            limit greatest(least(f.max_count - f.used_count, f.rate_count - f.rate_used_count), 0)
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
    ), counted as (
        select f.tenant_id, f.slot_key, f.used_count, f.rate_used_count, f.rate_seconds, (
            select count(*)::int from left_line as l
            where l.tenant_id = f.tenant_id and l.slot_key = f.slot_key) as entered_count
        from freed as f
    ), granted as (
        insert into stepwell.rate_token (tenant_id, slot_key, token_count, back_at)
        select c.tenant_id, c.slot_key, c.entered_count, stepwell.now() + c.rate_seconds * interval '1 second'
        from counted as c
        where c.rate_seconds is not null and c.entered_count > 0
    )
    update stepwell.concurrency_slot as s
    set used_count = f.used_count + f.entered_count,
        rate_used_count = case when f.rate_seconds is null then 0 else f.rate_used_count + f.entered_count end
    from counted as f
    where s.tenant_id = f.tenant_id and s.slot_key = f.slot_key;
end
$$;
