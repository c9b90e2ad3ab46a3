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
    if exists (select from stepwell.event_route as r
        where r.tenant_id = p_tenant_id and r.route_name = p_route_name and r.event_type = p_event_type
            and r.operation_id = v_operation.operation_id and r.fields = p_fields and r.priority = p_priority) then
        return false;
    end if;
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
    perform stepwell._event_append(p_tenant_id, 0, 'route.changed', p_actor, jsonb_build_object('name', p_route_name,
        'event_type', p_event_type, 'operation', p_operation_name, 'fields', p_fields));
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
        when p_fields && array['route', 'event_id', 'event_type', 'run_id', 'unit_id']
            then 'fields: route, event_id, event_type, run_id and unit_id are names that every job of a route has'
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
    if not found then
        return false;
    end if;
    perform stepwell._event_append(p_tenant_id, 0, 'route.deleted', stepwell._caller_name(), jsonb_build_object('name', p_route_name));
    return true;
end
$$;

-- Routes the next events of the tenants with routes that are farthest behind: at most 50 tenants, and p_limit events of each. An event
-- that cannot be routed becomes a problem, and the next ones are routed. The keeper calls it, again while is_full. Returns how many jobs
-- were enqueued, and whether there may be more to route.
-- Locks: the routes that have something to read, without those that somebody else holds.
-- Idempotency: a job has the route and the number of the event as its key; the position moves in the same transaction.
-- Raises: what is not the fault of an event.
create or replace function stepwell.fn_event_routes_follow(p_limit int default 1000, out job_count int, out is_full boolean)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_limit constant int := greatest(least(p_limit, stepwell._limit('limits.events_scan')), 1);
    v_tenant record;
    v_upto record;
    v_tenant_count int := 0;
begin
    job_count := 0;
    is_full := false;
    for v_tenant in
        select r.tenant_id, array_agg(r.route_name) as route_names, min(r.last_tx) as last_tx,
            (array_agg(r.last_event_id order by r.last_tx, r.last_event_id))[1] as last_event_id
        from (
            select x.* from stepwell.event_route as x
            where exists (select from stepwell.event_log as e
                where e.tenant_id = x.tenant_id and (e.tx, e.event_id) > (x.last_tx, x.last_event_id)
                    and e.tx < pg_snapshot_xmin(pg_current_snapshot()))
            order by x.tenant_id, x.route_name
            for update skip locked
        ) as r
        group by r.tenant_id
        order by min(r.last_tx), r.tenant_id
        limit 50
    loop
        v_tenant_count := v_tenant_count + 1;
        select max(e.tx) as tx, (array_agg(e.event_id order by e.tx desc, e.event_id desc))[1] as event_id, count(*) as event_count into v_upto
        from (
            select x.tx, x.event_id from stepwell.event_log as x
            where x.tenant_id = v_tenant.tenant_id and (x.tx, x.event_id) > (v_tenant.last_tx, v_tenant.last_event_id)
                and x.tx < pg_snapshot_xmin(pg_current_snapshot())
            order by x.tx, x.event_id
            limit v_limit
        ) as e;
        job_count := job_count + stepwell._events_route(v_tenant.tenant_id, v_tenant.route_names, v_tenant.last_tx, v_tenant.last_event_id,
            v_upto.tx, v_upto.event_id);
        is_full := is_full or v_upto.event_count = v_limit;
    end loop;
    is_full := is_full or v_tenant_count = 50;
end
$$;

-- Routes the events of a tenant between two positions, for these routes, and moves the routes to the second position. The caller
-- holds the routes.
create or replace function stepwell._events_route(
    p_tenant_id int, p_route_names text[], p_after_tx xid8, p_after_event_id bigint, p_upto_tx xid8, p_upto_event_id bigint
) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_event record;
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
            and r.route_name = any (p_route_names)
            and (e.tx, e.event_id) > (r.last_tx, r.last_event_id) and not pg_visible_in_snapshot(e.tx, r.since)
        inner join stepwell.operation as o on r.tenant_id = o.tenant_id and r.operation_id = o.operation_id
        where e.tenant_id = p_tenant_id and (e.tx, e.event_id) > (p_after_tx, p_after_event_id)
            and (e.tx, e.event_id) <= (p_upto_tx, p_upto_event_id)
        order by e.tx, e.event_id, r.route_name
    loop
        begin
            perform stepwell._event_enqueue(p_tenant_id, v_event.route_name, v_event.operation_name, v_event.priority, v_event.event_id,
                v_event.event_type, v_event.run_id, v_event.unit_id, v_event.trace_id, v_event.correlation_id,
                coalesce((select jsonb_object_agg(f.name, v_event.payload -> f.name) from unnest(v_event.fields) as f (name)
                    where v_event.payload ? f.name), '{}'));
            v_count := v_count + 1;
        exception when others then
            if not stepwell._is_fault_of_row(sqlstate) then
                raise;
            end if;
            perform stepwell._problem_open(p_tenant_id, 'event_route', 'route', v_event.route_name, null, sqlstate,
                format('event %s: %s', v_event.event_id, sqlerrm));
        end;
    end loop;
    perform stepwell._lag_note_passed(p_tenant_id, 'route:' || r.route_name, r.last_tx, r.last_event_id, p_upto_tx, p_upto_event_id)
    from stepwell.event_route as r
    where r.tenant_id = p_tenant_id and r.route_name = any (p_route_names)
        and (r.last_tx, r.last_event_id) < (p_upto_tx, p_upto_event_id);
    update stepwell.event_route as r set last_tx = p_upto_tx, last_event_id = p_upto_event_id
    where r.tenant_id = p_tenant_id and r.route_name = any (p_route_names)
        and (r.last_tx, r.last_event_id) < (p_upto_tx, p_upto_event_id);
    return v_count;
end
$$;

-- Enqueues the job of one event, in the workspace of the event. What the event gives never takes the place of what every job of a route has.
-- Raises: SW001 for data instead of signals, and for a loop of routes; what fn_job_enqueue raises.
create or replace function stepwell._event_enqueue(
    p_tenant_id int, p_route_name text, p_operation_name text, p_priority int, p_event_id bigint, p_event_type text, p_run_id bigint,
    p_unit_id bigint, p_trace_id text, p_correlation_id text, p_fields jsonb
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_payload constant jsonb := p_fields || jsonb_build_object('route', p_route_name, 'event_id', p_event_id, 'event_type', p_event_type,
        'run_id', p_run_id, 'unit_id', p_unit_id);
    v_problem constant text := coalesce(stepwell._signal_problem('payload', v_payload), stepwell._route_loop(p_tenant_id, p_unit_id));
begin
    if v_problem is not null then
        raise exception using errcode = 'SW001', message = v_problem;
    end if;
    perform stepwell.fn_job_enqueue(p_tenant_id, p_operation_name, array[v_payload],
        array[format('route:%s:%s', p_route_name, p_event_id)], p_priority, p_actor => 'engine', p_trace_id => p_trace_id,
        p_correlation_id => p_correlation_id, p_source_ref => 'event:' || p_event_id,
        p_workspace => (select w.workspace_name from stepwell.workspace as w
            where w.tenant_id = p_tenant_id and w.workspace_id = stepwell._workspace_of(p_tenant_id, p_unit_id)));
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
