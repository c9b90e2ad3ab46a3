-- Event routes: an event of a type enqueues a job. The keeper reads the log behind each route, as a reader of an outbox does, so that
-- an event costs nothing when it is written, and none is missed or routed twice.

-- Creates or changes an event route: each event of the type, from now on, enqueues a job of the operation. The type is that of an
-- event of a handler, of a signal, or of the engine, but not one that every job writes. Fields are those parts of the payload of the
-- event that the job gets.
-- Locks: the row of the route.
-- Idempotency: the same route again changes nothing.
-- Raises: SW001 naming the field; SW006 over a limit; SW007 for another tenant.
create or replace function stepwell.fn_event_route_set(
    p_tenant_id int, p_route_name text, p_event_type text, p_operation_name text, p_fields text[] default '{}', p_priority int default 0,
    p_actor text default null
) returns boolean
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_problem text;
    v_operation stepwell.operation;
    v_is_new boolean;
begin
    p_actor := coalesce(stepwell._actor_bound(p_tenant_id, p_actor, 'workflow.publish'), 'client');
    v_problem := stepwell._route_problem(p_route_name, p_event_type, p_fields, p_priority);
    if v_problem is not null then
        raise exception using errcode = 'SW001', column = split_part(v_problem, ':', 1), message = v_problem;
    end if;
    if (select count(*) from stepwell.event_route as r where r.tenant_id = p_tenant_id and r.route_name <> p_route_name)
        >= stepwell._limit('limits.event_routes') then
        raise exception using errcode = 'SW006', column = 'route_name', message = format(
            'route_name: at most %s routes are accepted', stepwell._limit('limits.event_routes'));
    end if;
    v_operation := stepwell._operation_of(p_tenant_id, p_operation_name);
    -- What is not committed yet is in front of this position, with whatever begins later. What is in front of it and committed
    -- is in the snapshot.
    insert into stepwell.event_route as r (
        tenant_id, route_name, event_type, operation_id, fields, priority, last_tx, last_event_id, since, created_at, created_by)
    values (p_tenant_id, p_route_name, p_event_type, v_operation.operation_id, p_fields, p_priority,
        pg_snapshot_xmin(pg_current_snapshot()), 0, pg_current_snapshot(), stepwell.now(), p_actor)
    on conflict (tenant_id, route_name) do update set
        event_type = excluded.event_type, operation_id = excluded.operation_id, fields = excluded.fields, priority = excluded.priority,
        since = case when r.event_type = excluded.event_type then r.since else excluded.since end
    returning xmax = 0 into v_is_new;
    return v_is_new;
end
$$;

-- What is wrong with a route, in one line that names the field; null when nothing is.
create or replace function stepwell._route_problem(
    p_route_name text, p_event_type text, p_fields text[], p_priority int
) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return case
        when coalesce(p_route_name, '') !~ '^[a-z0-9][a-z0-9._-]{0,99}$'
            then 'route_name: 1 to 100 of a-z, 0-9, dot, dash and underscore are accepted, beginning with a letter or digit'
        when coalesce(p_event_type, '') !~ '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}$'
            then 'event_type: 1 to 200 letters, digits, _ . and - are accepted'
        when p_event_type ~ '^(step|task|job|checkpoint)\.' or p_event_type in ('event.emitted', 'signal.received')
            then format('event_type: %s is written for every job; name the type that a handler emits or a signal has', p_event_type)
        when p_fields is null or cardinality(p_fields) > 20 or exists (select from unnest(p_fields) as f (name)
            where f.name is null or f.name !~ '^[A-Za-z_][A-Za-z0-9_]{0,62}$')
            then 'fields: at most 20 names of 1 to 63 letters, digits and _ are accepted'
        when coalesce(p_priority, 1001) not between -1000 and 1000 then 'priority: must be between -1000 and 1000'
        else stepwell._signal_problem('fields', (select jsonb_object_agg(f.name, null::text) from unnest(p_fields) as f (name))) end;
end
$$;

-- Removes an event route. Jobs that it has enqueued stay.
-- Locks: the row of the route.
-- Idempotency: returns false when there is none.
-- Raises: SW007 for another tenant.
create or replace function stepwell.fn_event_route_delete(p_tenant_id int, p_route_name text) returns boolean
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._verb_check(p_tenant_id, 'workflow.publish');
    delete from stepwell.event_route as r where r.tenant_id = p_tenant_id and r.route_name = p_route_name;
    return found;
end
$$;

-- Routes the next events of every tenant with routes, at most p_limit of each tenant. An event that cannot be routed becomes a
-- problem, and the next ones are routed. The keeper calls it. Returns how many jobs were enqueued.
-- Locks: the routes of a tenant, without those that another keeper holds.
-- Idempotency: a job has the route and the number of the event as its key; the position moves in the same transaction.
-- Raises: what is not the fault of an event.
create or replace function stepwell.fn_event_routes_follow(p_limit int default 5000) returns int
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_tenant record;
    v_upto record;
    v_count int := 0;
begin
    for v_tenant in
        select distinct on (r.tenant_id) r.tenant_id, r.last_tx, r.last_event_id
        from (select x.* from stepwell.event_route as x order by x.tenant_id, x.route_name for update skip locked) as r
        order by r.tenant_id, r.last_tx, r.last_event_id
    loop
        select e.tx, e.event_id into v_upto
        from (
            select x.tx, x.event_id from stepwell.event_log as x
            where x.tenant_id = v_tenant.tenant_id and (x.tx, x.event_id) > (v_tenant.last_tx, v_tenant.last_event_id)
                and x.tx < pg_snapshot_xmin(pg_current_snapshot())
            order by x.tx, x.event_id
            limit greatest(least(p_limit, stepwell._limit('limits.events_scan')), 1)
        ) as e
        order by e.tx desc, e.event_id desc
        limit 1;
        continue when not found;
        v_count := v_count + stepwell._events_route(v_tenant.tenant_id, v_tenant.last_tx, v_tenant.last_event_id, v_upto.tx, v_upto.event_id);
    end loop;
    return v_count;
end
$$;

-- Routes the events of a tenant between two positions and moves its routes to the second. The caller holds the routes.
create or replace function stepwell._events_route(
    p_tenant_id int, p_after_tx xid8, p_after_event_id bigint, p_upto_tx xid8, p_upto_event_id bigint
) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_event record;
    v_problem text;
    v_payload jsonb;
    v_count int := 0;
begin
    for v_event in
        select r.route_name, r.fields, r.priority, o.operation_name, e.event_id, e.run_id, e.unit_id, e.trace_id, e.correlation_id, k.event_type,
            case e.event_type when 'event.emitted' then e.payload -> 'payload' when 'signal.received' then (
                select i.payload from stepwell.event_inbox as i where i.tenant_id = e.tenant_id and i.event_key = e.payload ->> 'event_key')
                else e.payload end as payload
        from stepwell.event_log as e
        cross join lateral (select case e.event_type when 'event.emitted' then e.payload ->> 'type'
            when 'signal.received' then e.payload ->> 'signal_type' else e.event_type end) as k (event_type)
        inner join stepwell.event_route as r on r.tenant_id = p_tenant_id and r.event_type = k.event_type
            and (e.tx, e.event_id) > (r.last_tx, r.last_event_id) and not pg_visible_in_snapshot(e.tx, r.since)
        inner join stepwell.operation as o on r.tenant_id = o.tenant_id and r.operation_id = o.operation_id
        where e.tenant_id = p_tenant_id and (e.tx, e.event_id) > (p_after_tx, p_after_event_id)
            and (e.tx, e.event_id) <= (p_upto_tx, p_upto_event_id)
        order by e.tx, e.event_id, r.route_name
    loop
        v_payload := jsonb_build_object('route', v_event.route_name, 'event_id', v_event.event_id, 'event_type', v_event.event_type,
            'run_id', v_event.run_id, 'unit_id', v_event.unit_id) || coalesce((
                select jsonb_object_agg(f.name, v_event.payload -> f.name) from unnest(v_event.fields) as f (name)
                where v_event.payload ? f.name), '{}');
        v_problem := coalesce(stepwell._signal_problem('payload', v_payload), stepwell._route_loop(p_tenant_id, v_event.unit_id));
        if v_problem is not null then
            perform stepwell._problem_open(p_tenant_id, 'event_route', 'route', v_event.route_name, null, 'SW001',
                format('event %s: %s', v_event.event_id, v_problem));
            continue;
        end if;
        begin
            perform stepwell.fn_job_enqueue(p_tenant_id, v_event.operation_name, array[v_payload],
                array[format('route:%s:%s', v_event.route_name, v_event.event_id)], v_event.priority, p_actor => 'engine',
                p_trace_id => v_event.trace_id, p_correlation_id => v_event.correlation_id, p_source_ref => 'event:' || v_event.event_id);
            v_count := v_count + 1;
        exception when others then
            if not stepwell._is_fault_of_row(sqlstate) then
                raise;
            end if;
            perform stepwell._problem_open(p_tenant_id, 'event_route', 'route', v_event.route_name, null, sqlstate,
                format('event %s: %s', v_event.event_id, sqlerrm));
        end;
    end loop;
    update stepwell.event_route as r set last_tx = p_upto_tx, last_event_id = p_upto_event_id
    where r.tenant_id = p_tenant_id and (r.last_tx, r.last_event_id) < (p_upto_tx, p_upto_event_id);
    return v_count;
end
$$;

-- Why an event of this unit is not routed: too many jobs of routes follow each other, each from an event of the one before. Null when
-- it is. A job of a route has the event it came from as its source.
create or replace function stepwell._route_loop(p_tenant_id int, p_unit_id bigint) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_limit constant int := stepwell._limit('limits.route_depth');
    v_unit_id bigint := p_unit_id;
begin
    for v_depth in 1 .. v_limit loop
        select (y.payload ->> 'unit_id')::bigint into v_unit_id from stepwell.job_detail as y
        where y.tenant_id = p_tenant_id and y.job_id = v_unit_id and y.idempotency_key like 'route:%' and y.created_by = 'engine';
        if not found then
            return null;
        end if;
    end loop;
    return format('%s jobs of routes followed each other, each from an event of the one before; at most %s are accepted', v_limit, v_limit);
end
$$;
