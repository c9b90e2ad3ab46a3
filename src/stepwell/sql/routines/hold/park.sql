-- Units that a hold stops wait beside the queue, in job_held. A claim puts them there when it meets them; opening a hold does it
-- at once. What puts units into the queue knows nothing of holds, so it pays nothing for them.

-- The key of the advisory lock under which holds of a tenant are opened and end.
create or replace function stepwell._hold_lock_key() returns int
language sql immutable parallel safe
set search_path = stepwell, pg_temp
as $$ select 1751412836 $$;

-- Puts those of these units that a hold stops beside the queue; the caller has taken them all out of it. Returns them.
create or replace function stepwell._held_put(p_tenant_id int, p_unit_ids bigint[], p_retry_ids bigint[]) returns bigint[]
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_held_ids bigint[];
begin
    with held as (
        select s.unit_id, s.hold_id
        from stepwell._holds_of(array_fill(p_tenant_id, array[cardinality(p_unit_ids)]), p_unit_ids) as s
    ), put as (
        insert into stepwell.job_held (tenant_id, unit_id, hold_id, is_retry, has_slot, held_at)
        select p_tenant_id, h.unit_id, h.hold_id, coalesce(h.unit_id = any (p_retry_ids), false), u.slot_key is not null, stepwell.now()
        from held as h
        inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and h.unit_id = u.unit_id
        on conflict (tenant_id, unit_id) do update set hold_id = excluded.hold_id, is_retry = excluded.is_retry
    )
    select coalesce(array_agg(h.unit_id), '{}') into v_held_ids from held as h;
    return v_held_ids;
end
$$;

-- Takes up to n units that a hold stops out of the queue, and puts them beside it. Those that a claim has locked are met by the
-- next claim. Returns how many.
-- Locks: the ready rows, without those that others hold.
create or replace function stepwell._held_park(p_tenant_id int, p_limit int) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_found record;
begin
    with picked as materialized (
        select r.ctid as row_id, r.unit_id, r.is_retry
        from stepwell.job_ready as r
        where r.tenant_id = p_tenant_id and exists (select from stepwell._holds_of(array[p_tenant_id], array[r.unit_id]))
        order by r.unit_id
        limit p_limit
        for update skip locked
    ), gone as (
        delete from stepwell.job_ready as r where r.ctid = any (array(select p.row_id from picked as p))
        returning r.unit_id, r.is_retry
    )
    select array_agg(g.unit_id) as unit_ids, array_agg(g.unit_id) filter (where g.is_retry) as retry_ids into v_found from gone as g;
    if v_found.unit_ids is null then
        return 0;
    end if;
    perform stepwell._held_put(p_tenant_id, v_found.unit_ids, v_found.retry_ids);
    return cardinality(v_found.unit_ids);
end
$$;

-- Removes what a paused run has beside the queue. Returns the units that still had a slot.
-- Locks: the rows.
create or replace function stepwell._held_forget(p_tenant_id int, p_run_id bigint) returns bigint[]
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_unit_ids bigint[];
begin
    with gone as (
        delete from stepwell.job_held as j
        where j.tenant_id = p_tenant_id and j.unit_id between stepwell._run_unit(p_run_id) + 1 and stepwell._run_last(p_run_id)
        returning j.unit_id, j.has_slot
    )
    select array_agg(g.unit_id) filter (where g.has_slot) into v_unit_ids from gone as g;
    return v_unit_ids;
end
$$;

-- Up to n units that leave their place beside the queue, locked: those that no hold stops any more and that have their slot,
-- those without a slot, and those that are not ready any more, whose slots become free. A unit that another hold stops now
-- belongs to that hold.
-- Locks: the rows, without those that others hold.
create or replace function stepwell._held_take(
    p_tenant_id int, p_limit int, out free_ids bigint[], out lined_ids bigint[], out dropped_ids bigint[]
)
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    update stepwell.job_held as j set hold_id = s.hold_id
    from (
        select x.unit_id, s.hold_id
        from (
            select j.unit_id from stepwell.job_held as j
            inner join stepwell.incident_hold as h on j.tenant_id = h.tenant_id and j.hold_id = h.hold_id
            where j.tenant_id = p_tenant_id and h.released_at is not null
            limit p_limit
        ) as x
        cross join lateral stepwell._holds_of(array[p_tenant_id], array[x.unit_id]) as s
    ) as s
    where j.tenant_id = p_tenant_id and j.unit_id = s.unit_id;
    with picked as materialized (
        select j.unit_id, coalesce(u.state_code in ('ready', 'failed'), false) as is_ready
        from stepwell.job_held as j
        left join stepwell.work_unit as u on j.tenant_id = u.tenant_id and j.unit_id = u.unit_id
        where j.tenant_id = p_tenant_id and (coalesce(u.state_code not in ('ready', 'failed'), true)
            or not exists (select from stepwell._holds_of(array[p_tenant_id], array[j.unit_id])))
        order by j.unit_id
        limit p_limit
        for update of j skip locked
    ), gone as (
        delete from stepwell.job_held as j
        using picked as p
        where j.tenant_id = p_tenant_id and j.unit_id = p.unit_id
        returning j.unit_id, j.has_slot, p.is_ready
    )
    select array_agg(g.unit_id) filter (where g.is_ready and g.has_slot), array_agg(g.unit_id) filter (where g.is_ready and not g.has_slot),
        array_agg(g.unit_id) filter (where not g.is_ready and g.has_slot)
    into free_ids, lined_ids, dropped_ids
    from gone as g;
end
$$;
