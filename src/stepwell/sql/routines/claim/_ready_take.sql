-- Purpose: takes up to n rows out of job_ready. Each tenant with claimable work gets a share by its weight, in random
--   order so that a small n favours nobody; what a tenant leaves unused goes to the others in another pass. A tenant with a
--   cap on what it has in hand gets no more than its room, in the first pass.
-- Locks: tenants with a cap, in order; the rows taken, skipping those another claim holds; the runs of retries, which move their counters, without
--   waiting: whoever holds a run may wait for a row taken here. A retry whose run is busy stays in the queue.
-- Idempotency: none.
-- Raises: nothing.
create or replace function stepwell._ready_take(p_class_ids int[], p_limit int, p_is_first boolean default true)
returns table (tenant_id int, unit_id bigint, is_retry boolean)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    v_got_count int;
begin
    return query
    with recursive seen as (
        (select r.tenant_id from stepwell.job_ready as r order by r.tenant_id limit 1)
        union all
        select (select r.tenant_id from stepwell.job_ready as r where r.tenant_id > s.tenant_id
            order by r.tenant_id limit 1)
        from seen as s
        where s.tenant_id is not null
    ), turn as (
        select s.tenant_id, t.max_concurrency, ceil(p_limit * t.weight::numeric / sum(t.weight) over ())::int as share
        from seen as s
        inner join stepwell.tenant as t on s.tenant_id = t.tenant_id
        where s.tenant_id is not null and (t.max_concurrency is null or p_is_first)
    ), room as materialized (
        -- In the order of the tenants, which is the order of their locks.
        select t.tenant_id, case when t.max_concurrency is null then t.share
            else least(t.share, stepwell._tenant_room(t.tenant_id, t.max_concurrency)) end as share
        from turn as t
    ), picked as (
        select x.row_id, x.tenant_id, x.unit_id, x.in_run
        from (select m.tenant_id, m.share from room as m order by random()) as t
        cross join lateral (
            select y.*
            from unnest(p_class_ids) as c (class_id)
            cross join lateral (
                select r.ctid as row_id, r.tenant_id, r.unit_id, r.is_retry and r.unit_id & 1048575 <> 0 as in_run
                from stepwell.job_ready as r
                where r.tenant_id = t.tenant_id and r.class_id = c.class_id
                order by r.rank, r.unit_id
                limit t.share
                for update skip locked
            ) as y
            limit t.share
        ) as x
        limit p_limit
    ), held as materialized (
        select p.row_id
        from picked as p
        inner join stepwell.run_progress as b on p.tenant_id = b.tenant_id and p.unit_id >> 20 = b.run_id
        where p.in_run
        for update of b skip locked
    )
    delete from stepwell.job_ready as r
    where r.ctid = any (array(select p.row_id from picked as p where not p.in_run union all select h.row_id from held as h))
    returning r.tenant_id, r.unit_id, r.is_retry;
    get diagnostics v_got_count = row_count;
    if v_got_count > 0 and v_got_count < p_limit and exists (select from stepwell.job_ready) then
        return query select t.tenant_id, t.unit_id, t.is_retry
        from stepwell._ready_take(p_class_ids, p_limit - v_got_count, false) as t;
    end if;
end
$$;
