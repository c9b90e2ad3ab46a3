-- Concurrency keys and rate limits. A unit with a key waits in line (job_line) until the key has a free slot; then it
-- enters the queue. A slot that becomes free goes to the next unit in line in the same statement. All functions here
-- lock the rows of concurrency_slot by _slots_lock.

-- Puts units that have a concurrency key in line, and lets as many enter the queue as their key has free slots.
create or replace function stepwell._slots_take(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language sql volatile
set search_path = stepwell, pg_temp
as $$
    select stepwell._slots_change(null, null, p_tenant_ids, p_unit_ids)
$$;

-- Frees the slots of units that do not run any more (ended, failed, waiting or released), each exactly once.
create or replace function stepwell._slots_free(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language sql volatile
set search_path = stepwell, pg_temp
as $$
    select stepwell._slots_change(p_tenant_ids, p_unit_ids, null, null)
$$;

-- Frees the slots of some units and puts others in line, in one round: a transaction that locks slots twice may have to
-- give up (_slots_lock).
create or replace function stepwell._slots_change(
    p_freed_tenant_ids int[], p_freed_ids bigint[], p_taking_tenant_ids int[], p_taking_ids bigint[]
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_key record;
begin
    with lined as (
        insert into stepwell.job_line (tenant_id, slot_key, rank, unit_id)
        select u.tenant_id, u.slot_key, -u.priority, u.unit_id
        from unnest(p_taking_tenant_ids, p_taking_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        left join stepwell.run_progress as p on u.tenant_id = p.tenant_id and stepwell._run_of(u.unit_id) = p.run_id
        where u.slot_key is not null and u.executor_class_id is not null and p.frozen_at is null
        on conflict do nothing
        returning tenant_id, slot_key
    ), key as (
        select k.tenant_id, k.slot_key, sum(k.freed_count)::int as freed_count
        from (
            select l.tenant_id, l.slot_key, 0 as freed_count from lined as l
            union all
            select u.tenant_id, u.slot_key, 1
            from unnest(p_freed_tenant_ids, p_freed_ids) as q (tenant_id, unit_id)
            inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
            where u.slot_key is not null
        ) as k
        group by k.tenant_id, k.slot_key
    )
    select array_agg(k.tenant_id) as tenant_ids, array_agg(k.slot_key) as slot_keys, array_agg(k.freed_count) as freed_counts
    into v_key
    from key as k;
    perform stepwell._slots_fill(v_key.tenant_ids, v_key.slot_keys, v_key.freed_counts);
end
$$;

-- After a batch of completions: units that ended free their slots, units that became ready are put in line.
create or replace function stepwell._slots_pass(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_part record;
begin
    select
        array_agg(u.tenant_id) filter (where u.state_code = 'ready') as ready_tenant_ids,
        array_agg(u.unit_id) filter (where u.state_code = 'ready') as ready_ids,
        array_agg(u.tenant_id) filter (where u.state_code <> 'ready') as ended_tenant_ids,
        array_agg(u.unit_id) filter (where u.state_code <> 'ready') as ended_ids
    into v_part
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id;
    perform stepwell._slots_change(v_part.ended_tenant_ids, v_part.ended_ids, v_part.ready_tenant_ids, v_part.ready_ids);
end
$$;

-- Locks the slots of these keys. The first round of a transaction waits for them in key order. A later round waits only
-- for keys after all that the transaction has; a key before these it takes at once or not at all. So nobody who holds a
-- slot waits for one that comes before it.
-- Locks: concurrency_slot rows in key order.
-- Raises: 55P03 when a key before those of an earlier round is held by another transaction (try again).
create or replace function stepwell._slots_lock(p_tenant_ids int[], p_keys text[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    -- Ends with the transaction, or with the savepoint that also ends the locks.
    v_last constant text := coalesce(current_setting('stepwell.last_slot', true), '');
    v_place text;
begin
    if v_last <> '' then
        perform 1
        from stepwell.concurrency_slot as s
        inner join unnest(p_tenant_ids, p_keys) as q (tenant_id, slot_key)
            on s.tenant_id = q.tenant_id and s.slot_key = q.slot_key
        where stepwell._slot_place(s.tenant_id, s.slot_key) <= v_last collate "C"
        for update of s nowait;
    end if;
    select max(l.place) into v_place from (
        select stepwell._slot_place(s.tenant_id, s.slot_key) as place
        from stepwell.concurrency_slot as s
        inner join unnest(p_tenant_ids, p_keys) as q (tenant_id, slot_key)
            on s.tenant_id = q.tenant_id and s.slot_key = q.slot_key
        where stepwell._slot_place(s.tenant_id, s.slot_key) > v_last collate "C"
        order by place
        for update of s
    ) as l;
    if v_place is not null then
        perform set_config('stepwell.last_slot', v_place, true);
    end if;
end
$$;

-- The place of a key in the lock order of slots: by tenant, then by key, byte by byte.
create or replace function stepwell._slot_place(p_tenant_id int, p_slot_key text) returns text
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select (lpad(p_tenant_id::text, 10, '0') || ':' || p_slot_key) collate "C"
$$;

-- Counts down the slots that became free, and lets the next units in line enter the queue. A key with a rate limit lets
-- in no more than the rate has left; _rates_return gives each entry back when the time of the rate has passed.
-- Locks: the slots, as _slots_lock.
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
    perform stepwell._slots_lock(p_tenant_ids, p_keys);
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
        insert into stepwell.job_ready (tenant_id, workspace_id, executor_class_id, rank, operation_id, unit_id, is_retry)
        select l.tenant_id, stepwell._workspace_of(l.tenant_id, l.unit_id), u.executor_class_id, l.rank, u.operation_id, l.unit_id, u.state_code = 'failed'
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

-- Sets how many units may have this key at the same time; null removes the bound. Units that wait for the key enter the
-- queue if there is room now.
-- Locks: the row of the key.
create or replace function stepwell._slot_bound_set(p_tenant_id int, p_slot_key text, p_max_count int) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._slots_lock(array[p_tenant_id], array[p_slot_key]);
    update stepwell.concurrency_slot as s set max_count = coalesce(p_max_count, 2147483647)
    where s.tenant_id = p_tenant_id and s.slot_key = p_slot_key;
    if found then
        perform stepwell._slots_fill(array[p_tenant_id], array[p_slot_key], null);
    end if;
end
$$;

-- Frees the entries of rate limits whose time has passed, and lets the next units in line enter the queue. Returns
-- how many came back.
-- Locks: the tokens that are due, without those that another keeper holds; then the slots, as _slots_lock.
create or replace function stepwell._rates_return(p_now timestamptz, p_limit int) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_back record;
begin
    with due as (
        select t.tenant_id, t.token_id from stepwell.rate_token as t
        where t.back_at <= p_now
        order by t.back_at limit p_limit
        for update skip locked
    ), gone as (
        delete from stepwell.rate_token as t
        using due as d
        where t.tenant_id = d.tenant_id and t.token_id = d.token_id
        returning t.tenant_id, t.slot_key, t.token_count
    ), key as (
        select g.tenant_id, g.slot_key, sum(g.token_count)::int as token_count
        from gone as g
        group by g.tenant_id, g.slot_key
    )
    select array_agg(k.tenant_id order by k.tenant_id, k.slot_key) as tenant_ids,
        array_agg(k.slot_key order by k.tenant_id, k.slot_key) as slot_keys,
        array_agg(k.token_count order by k.tenant_id, k.slot_key) as token_counts, sum(k.token_count)::int as back_count
    into v_back
    from key as k;
    perform stepwell._slots_fill(v_back.tenant_ids, v_back.slot_keys, null, v_back.token_counts);
    return coalesce(v_back.back_count, 0);
end
$$;
