-- The keeper samples how long ready work waits for a lease, and events for the seal. It reads the log behind the work, in bounded parts:
-- claims, reports and seals write nothing for it.

-- Samples what is new in the log of the tenants that have something new, at most 50 of them. Of a busy tenant only the newest events
-- count; the others are skipped. Returns how many lags it noted.
-- Locks: the places of the tenants, without those that another keeper holds; then the rows of the histograms.
-- Idempotency: an event is sampled once; the place moves in the same transaction.
-- Raises: nothing.
create or replace function stepwell.fn_event_lag_sample() returns int
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_place stepwell.event_lag_place;
    v_count int := 0;
begin
    insert into stepwell.event_lag_place (tenant_id, last_tx, last_event_id, last_block_no)
    select t.tenant_id, pg_snapshot_xmin(pg_current_snapshot()), 0, coalesce(c.block_count, 0)
    from stepwell.tenant as t
    left join stepwell.audit_chain as c on t.tenant_id = c.tenant_id
    where not exists (select from stepwell.event_lag_place as p where p.tenant_id = t.tenant_id)
    on conflict (tenant_id) do nothing;
    for v_place in
        select p.* from stepwell.event_lag_place as p
        where exists (select from stepwell.event_log as e
                where e.tenant_id = p.tenant_id and (e.tx, e.event_id) > (p.last_tx, p.last_event_id)
                    and e.tx < pg_snapshot_xmin(pg_current_snapshot()))
            or exists (select from stepwell.audit_chain as c where c.tenant_id = p.tenant_id and c.block_count > p.last_block_no)
        order by p.last_tx, p.tenant_id
        limit 50
        for update skip locked
    loop
        v_count := v_count + stepwell._lag_sample_queue(v_place) + stepwell._lag_sample_seal(v_place);
    end loop;
    return v_count;
end
$$;

-- Notes how long steps and jobs were ready before a worker leased them: of the newest events at most limits.event_lag_sample are
-- looked at, and of these the newest 100 leases. What became ready more than 500 events of its run ago counts as ready since then.
-- Attempts after the first are not counted: they wait for their time. The caller holds the place.
create or replace function stepwell._lag_sample_queue(p_place stepwell.event_lag_place) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_last record;
    v_pair record;
    v_count int := 0;
begin
    select e.tx, e.event_id into v_last from stepwell.event_log as e
    where e.tenant_id = p_place.tenant_id and (e.tx, e.event_id) > (p_place.last_tx, p_place.last_event_id)
        and e.tx < pg_snapshot_xmin(pg_current_snapshot())
    order by e.tx desc, e.event_id desc limit 1;
    if not found then
        return 0;
    end if;
    update stepwell.event_lag_place as p set last_tx = v_last.tx, last_event_id = v_last.event_id where p.tenant_id = p_place.tenant_id;
    for v_pair in
        select coalesce(c.class_name, 'none') || '/' || coalesce(o.operation_name, 'none') as consumer, array_agg(s.at - r.ready_at) as lags
        from (
            select n.* from (
                select e.tx, e.event_id, e.at, e.run_id, e.unit_id, e.from_state, e.to_state, e.actor_class from stepwell.event_log as e
                where e.tenant_id = p_place.tenant_id and (e.tx, e.event_id) > (p_place.last_tx, p_place.last_event_id)
                    and (e.tx, e.event_id) <= (v_last.tx, v_last.event_id)
                order by e.tx desc, e.event_id desc limit stepwell._limit('limits.event_lag_sample')
            ) as n
            where n.from_state = 'ready' and n.to_state = 'in_progress' and n.actor_class = 'executor_worker'
            order by n.tx desc, n.event_id desc limit 100
        ) as s
        cross join lateral (select stepwell._ready_since(p_place.tenant_id, s.run_id, s.unit_id, s.event_id) as ready_at) as r
        inner join stepwell.work_unit as u on u.tenant_id = p_place.tenant_id and u.unit_id = s.unit_id
        left join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
        left join stepwell.executor_class as c on o.executor_class_id = c.executor_class_id
        where r.ready_at is not null
        group by 1
        order by 1
    loop
        perform stepwell._lag_note(p_place.tenant_id, 'queue', v_pair.consumer, v_pair.lags);
        v_count := v_count + cardinality(v_pair.lags);
    end loop;
    return v_count;
end
$$;

-- Since when a unit was ready before this event of its run; the look goes back 500 events.
create or replace function stepwell._ready_since(p_tenant_id int, p_run_id bigint, p_unit_id bigint, p_event_id bigint) returns timestamptz
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce((
        select x.at from (
            select e.at, e.unit_id, e.to_state from stepwell.event_log as e
            where e.tenant_id = p_tenant_id and e.run_id = p_run_id and e.event_id < p_event_id
            order by e.event_id desc limit 500
        ) as x
        where x.unit_id = p_unit_id and x.to_state = 'ready' limit 1
    ), (
        select e.at from stepwell.event_log as e
        where e.tenant_id = p_tenant_id and e.run_id = p_run_id and e.event_id < p_event_id
        order by e.event_id desc offset 499 limit 1
    ))
$$;

-- Notes how long the events of new blocks waited for their seal, of at most ten blocks, the newest. The caller holds the place.
create or replace function stepwell._lag_sample_seal(p_place stepwell.event_lag_place) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_lags interval[];
    v_last_no bigint;
begin
    select array_agg(b.sealed_at - a.at), max(b.block_no) into v_lags, v_last_no
    from (
        select k.block_no, k.sealed_at from stepwell.audit_block as k
        where k.tenant_id = p_place.tenant_id and k.block_no > p_place.last_block_no
        order by k.block_no desc limit 10
    ) as b
    inner join stepwell.audit_leaves as l on l.tenant_id = p_place.tenant_id and l.block_no = b.block_no
    cross join lateral unnest(l.ats) as a (at);
    if v_last_no is null then
        return 0;
    end if;
    update stepwell.event_lag_place as p set last_block_no = v_last_no where p.tenant_id = p_place.tenant_id;
    perform stepwell._lag_note(p_place.tenant_id, 'log', 'seal', v_lags);
    return cardinality(v_lags);
end
$$;
