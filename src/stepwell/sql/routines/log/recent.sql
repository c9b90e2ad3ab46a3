-- The newest events of a tenant, for people and governance: by type, by actor and by time, page by page.

-- Events of a tenant from the newest to the oldest, in the order of the log (tx, event_id), below the position p_before_*:
-- give the last row of a page for the next page. p_types, p_actor, p_from and p_until (not included) narrow it. An index
-- finds rare types and what people, services and named clients did. For what every step writes, and for what clients
-- without a name did (actor `client`), the log is walked back, at most limits.events_scan events. If the page is not full
-- then, its last row has no event_type: it is only the position where to continue. p_from and p_until go by the time of an
-- event; a transaction that was open for more than a minute may be left out of a window that ends or begins while it was
-- open.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW001 for more than 20 types.
create or replace function stepwell.fn_events_recent(
    p_tenant_id int, p_types text[] default null, p_actor text default null, p_from timestamptz default null,
    p_until timestamptz default null, p_before_tx bigint default null, p_before_event_id bigint default null,
    p_limit int default 50
) returns table (
    tx bigint, event_id bigint, at timestamptz, run_id bigint, unit_id bigint, event_type text, from_state text,
    to_state text, actor_class text, actor text, audit_ref text, payload jsonb
)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_page constant int := greatest(least(p_limit, stepwell._limit('limits.events_page')), 1);
    v_scan constant int := stepwell._limit('limits.events_scan');
    v_low xid8 := '0'::xid8;
    v_high xid8 := '18446744073709551615'::xid8;
    v_high_id bigint := 0::bigint;
    v_events refcursor;
    v_event stepwell.event_log;
    v_last_tx bigint;
    v_last_id bigint;
    v_seen int := 0;
    v_given int := 0;
begin
    if cardinality(p_types) > 20 then
        raise exception using errcode = 'SW001', column = 'types', message = 'types: at most 20 event types are accepted';
    end if;
    if p_from is not null then
        v_low := coalesce(stepwell._log_position(p_tenant_id, p_from - interval '1 minute'), v_high);
    end if;
    if p_until is not null then
        v_high := coalesce(stepwell._log_position(p_tenant_id, p_until + interval '1 minute'), v_high);
    end if;
    if p_before_tx is not null and (p_before_tx::text::xid8, p_before_event_id) < (v_high, v_high_id) then
        v_high := p_before_tx::text::xid8;
        v_high_id := p_before_event_id;
    end if;
    v_events := stepwell._events_back(p_tenant_id, p_types, p_actor, v_low, v_high, v_high_id, v_scan,
        case when p_actor is null and p_from is null and p_until is null then v_page else v_scan end);
    loop
        fetch v_events into v_event;
        exit when not found;
        v_seen := v_seen + 1;
        v_last_tx := v_event.tx::text::bigint;
        v_last_id := v_event.event_id;
        if (p_types is null or v_event.event_type = any (p_types)) and (p_actor is null or v_event.actor = p_actor)
            and (p_from is null or v_event.at >= p_from) and (p_until is null or v_event.at < p_until) then
            return query select v_event.tx::text::bigint, v_event.event_id, v_event.at, v_event.run_id, v_event.unit_id,
                v_event.event_type, v_event.from_state, v_event.to_state, v_event.actor_class, v_event.actor,
                v_event.audit_ref, v_event.payload;
            v_given := v_given + 1;
            exit when v_given = v_page;
        end if;
    end loop;
    close v_events;
    if v_given < v_page and v_seen = v_scan then
        return query select v_last_tx, v_last_id, null::timestamptz, null::bigint, null::bigint, null::text, null::text,
            null::text, null::text, null::text, null::text, null::jsonb;
    end if;
end
$$;

-- What every step writes: the types that the index of rare types leaves out.
create or replace function stepwell._routine_event_types() returns text[]
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select '{step.ready,step.started,step.completed,task.ready,task.started,task.completed,job.enqueued,job.ready,job.started,
        job.completed,workflow.started,workflow.completed,checkpoint.saved,event.emitted}'::text[]
$$;

-- The events to look at, from the newest to the oldest, between two positions: by the index of rare types, else by the
-- index of actors, else every event of the tenant. Which types and actors the indexes have stands in their definition.
-- p_scan_each: how many events of each type are looked at when there are several types.
create or replace function stepwell._events_back(
    p_tenant_id int, p_types text[], p_actor text, p_low xid8, p_high xid8, p_high_id bigint, p_scan int, p_scan_each int
) returns refcursor
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_routine constant text[] := stepwell._routine_event_types();
    v_events refcursor;
begin
    if cardinality(p_types) = 1 and not p_types && v_routine then
        open v_events for
        select e.* from stepwell.event_log as e
        where e.tenant_id = p_tenant_id and e.event_type = p_types[1] and e.tx >= p_low
            and (e.tx, e.event_id) < (p_high, p_high_id)
            and e.event_type not in ('step.ready', 'step.started', 'step.completed', 'task.ready', 'task.started',
                'task.completed', 'job.enqueued', 'job.ready', 'job.started', 'job.completed', 'workflow.started',
                'workflow.completed', 'checkpoint.saved', 'event.emitted')
        order by e.tx desc, e.event_id desc limit p_scan;
    elsif not p_types && v_routine then
        open v_events for
        select (f.event).* from (
            select distinct q.event_type from unnest(p_types) as q (event_type)
        ) as t
        cross join lateral (
            select e as event from stepwell.event_log as e
            where e.tenant_id = p_tenant_id and e.event_type = t.event_type and e.tx >= p_low
                and (e.tx, e.event_id) < (p_high, p_high_id)
                and e.event_type not in ('step.ready', 'step.started', 'step.completed', 'task.ready', 'task.started',
                    'task.completed', 'job.enqueued', 'job.ready', 'job.started', 'job.completed', 'workflow.started',
                    'workflow.completed', 'checkpoint.saved', 'event.emitted')
            order by e.tx desc, e.event_id desc limit p_scan_each
        ) as f
        order by (f.event).tx desc, (f.event).event_id desc limit p_scan;
    elsif p_actor not in ('engine', 'client') and p_actor not like 'session:%' then
        open v_events for
        select e.* from stepwell.event_log as e
        where e.tenant_id = p_tenant_id and e.actor = p_actor and e.actor_class <> 'executor_worker' and e.actor <> 'engine'
            and e.actor <> 'client' and e.tx >= p_low and (e.tx, e.event_id) < (p_high, p_high_id)
        order by e.tx desc, e.event_id desc limit p_scan;
    else
        open v_events for
        select e.* from stepwell.event_log as e
        where e.tenant_id = p_tenant_id and e.tx >= p_low and (e.tx, e.event_id) < (p_high, p_high_id)
        order by e.tx desc, e.event_id desc limit p_scan;
    end if;
    return v_events;
end
$$;

-- The first transaction of a tenant whose events have this time or a later one; null when there is none. Times rise with
-- the numbers of transactions as far as transactions are short, so that halving finds it.
create or replace function stepwell._log_position(p_tenant_id int, p_at timestamptz) returns xid8
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_low bigint;
    v_high bigint;
    v_middle bigint;
    v_found record;
begin
    select e.tx::text::bigint as tx, e.at into v_found from stepwell.event_log as e
    where e.tenant_id = p_tenant_id order by e.tx desc, e.event_id desc limit 1;
    if not found or v_found.at < p_at then
        return null;
    end if;
    v_high := v_found.tx;
    select e.tx::text::bigint into v_low from stepwell.event_log as e
    where e.tenant_id = p_tenant_id order by e.tx, e.event_id limit 1;
    while v_low < v_high loop
        v_middle := v_low + (v_high - v_low) / 2;
        select e.tx::text::bigint as tx, e.at into v_found from stepwell.event_log as e
        where e.tenant_id = p_tenant_id and e.tx >= v_middle::text::xid8 order by e.tx, e.event_id limit 1;
        if v_found.at < p_at then
            v_low := v_found.tx + 1;
        else
            v_high := v_middle;
        end if;
    end loop;
    return v_low::text::xid8;
end
$$;
