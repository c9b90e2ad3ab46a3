-- Concurrency keys and rate limits. A unit with a key waits in line (job_line) until the key has a free slot; then it
-- enters the queue. A slot that becomes free goes to the next unit in line in the same statement. All functions here
-- lock the rows of concurrency_slot in key order.

-- Puts units that have a concurrency key in line, and lets as many enter the queue as their key has free slots.
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
        left join stepwell.run_progress as p on u.tenant_id = p.tenant_id and stepwell._run_of(u.unit_id) = p.run_id
        where u.slot_key is not null and u.executor_class_id is not null and p.frozen_at is null
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

-- Frees the slots of units that do not run any more (ended, failed, waiting or released), each exactly once.
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
    if v_part.ended_ids is not null then
        perform stepwell._slots_free(v_part.ended_tenant_ids, v_part.ended_ids);
    end if;
    if v_part.ready_ids is not null then
        perform stepwell._slots_take(v_part.ready_tenant_ids, v_part.ready_ids);
    end if;
end
$$;

-- Counts down the slots that became free, and lets the next units in line enter the queue. A key with a rate limit lets
-- in no more than the rate has left; _rates_return gives each entry back when the time of the rate has passed.
-- Locks: concurrency_slot rows in key order.
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
        insert into stepwell.job_ready (tenant_id, executor_class_id, rank, unit_id, is_retry)
        select l.tenant_id, u.executor_class_id, l.rank, l.unit_id, u.state_code = 'failed'
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

-- Gives back the entries of rate limits whose time has passed, and lets the next units in line enter the queue. Returns
-- how many came back.
-- Locks: the tokens that are due, without those that another keeper holds; then concurrency_slot rows in key order.
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
