-- Reports of units that did not complete: failed, retry, dead, waiting, sleep, released, evaluated. Callers hold the locks of
-- the runs. SW004: the registry refuses.

-- Outcomes other than completed, each kind in one call for all its units. Returns the units whose report was accepted:
-- those whose lease (session, lease_no) is valid.
-- Raises: SW001 for an unknown outcome.
create or replace function stepwell._report_others(
    p_session_id bigint, p_tenant_ids int[], p_unit_ids bigint[], p_lease_nos int[], p_outcomes text[], p_bodies text[]
) returns bigint[]
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_part record;
    v_taken_ids bigint[] := '{}'::bigint[];
    v_slot_tenant_ids int[];
    v_slot_ids bigint[];
    v_back_tenant_ids int[];
    v_back_ids bigint[];
begin
    for v_part in
        select
            case when q.outcome in ('failed', 'retry', 'dead') or x.problem is not null then 'failed'
                when q.outcome in ('waiting', 'sleep') then 'parked' else q.outcome end as kind,
            array_agg(q.tenant_id order by q.unit_id) as tenant_ids, array_agg(q.unit_id order by q.unit_id) as unit_ids,
            array_agg(q.tenant_id) filter (where u.slot_key is not null) as slot_tenant_ids,
            array_agg(q.unit_id) filter (where u.slot_key is not null) as slot_ids,
            array_agg(case when x.problem is not null then jsonb_build_object('outcome', 'dead', 'error',
                    jsonb_build_object('type', 'EventRejected', 'message', x.problem))
                else coalesce(q.body::jsonb, '{}') || jsonb_build_object('outcome', q.outcome) end order by q.unit_id) as bodies
        from unnest(p_tenant_ids, p_unit_ids, p_lease_nos, p_outcomes, p_bodies)
            as q (tenant_id, unit_id, lease_no, outcome, body)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        cross join lateral (select case when q.outcome = 'waiting' then stepwell._outbound_problem(q.tenant_id, q.unit_id, q.body) end
            as problem) as x
        where u.lease_session_id = p_session_id and u.lease_no = q.lease_no and u.state_code in ('in_progress', 'overdue')
        group by 1
        order by 1
    loop
        v_taken_ids := v_taken_ids || v_part.unit_ids;
        v_slot_tenant_ids := v_slot_tenant_ids || v_part.slot_tenant_ids;
        v_slot_ids := v_slot_ids || v_part.slot_ids;
        case v_part.kind
            when 'failed' then
                perform stepwell._units_fail(v_part.tenant_ids, v_part.unit_ids, v_part.bodies, 'executor_worker', p_session_id);
            when 'parked' then
                perform stepwell._units_park(v_part.tenant_ids, v_part.unit_ids, v_part.bodies, p_session_id);
            when 'released' then
                perform stepwell._units_move(v_part.tenant_ids, v_part.unit_ids, 'ready', 'executor_worker', 'rpc',
                    'step_release', p_session_id => p_session_id);
                v_back_tenant_ids := v_part.slot_tenant_ids;
                v_back_ids := v_part.slot_ids;
            when 'evaluated' then
                perform stepwell._steps_resume(v_part.tenant_ids, v_part.unit_ids, v_part.bodies);
            else
                raise exception using errcode = 'SW001', message = format(
                    'outcome: %s is unknown; completed, failed, retry, dead, waiting, sleep, released, evaluated or oversized is accepted', v_part.kind);
        end case;
        perform stepwell._receipts_doubt(v_part.tenant_ids, v_part.unit_ids, 'the attempt ended without settling it');
    end loop;
    if v_slot_ids is not null then
        perform stepwell._slots_change(v_slot_tenant_ids, v_slot_ids, v_back_tenant_ids, v_back_ids);
    end if;
    return v_taken_ids;
end
$$;

-- Units begin to wait or sleep: they have no lease and no slot until an event, a time-out or the clock wakes them.
-- Events that the handler sends with it are appended in the same commit; an event that came early is taken at once.
-- Raises: SW001 when a wait names no event.
create or replace function stepwell._units_park(
    p_tenant_ids int[], p_unit_ids bigint[], p_bodies jsonb[], p_session_id bigint
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_unit record;
begin
    if exists (select from unnest(p_bodies) as b (body)
        where b.body ->> 'outcome' = 'waiting' and coalesce(b.body ->> 'event', '') = '') then
        raise exception using errcode = 'SW001', message = 'waiting: the name of an event is required';
    end if;
    perform stepwell._units_move(p_tenant_ids, p_unit_ids, 'waiting', 'executor_worker', 'rpc', 'step_wait',
        p_payloads => array(
            select jsonb_strip_nulls(jsonb_build_object(
                'waiting_facet', case b.body ->> 'outcome' when 'sleep' then 'waiting_time_gate'
                    else coalesce(f.facets[1], 'waiting_external') end,
                'waiting_facets', case when cardinality(f.facets) > 1 then f.facets end,
                'event_type', b.body ->> 'event', 'approval_id', b.body -> 'approval_id'))
            from unnest(p_tenant_ids, p_unit_ids, p_bodies) with ordinality as b (tenant_id, unit_id, body, ord)
            cross join lateral (select stepwell._facets_reported(b.tenant_id, b.unit_id, b.body) as facets) as f
            order by b.ord),
        p_session_id => p_session_id);
    insert into stepwell.timer (tenant_id, unit_id, timer_kind, due_at)
    select q.tenant_id, q.unit_id, case q.body ->> 'outcome' when 'sleep' then 'sleep' else 'wait_timeout' end,
        v_now + make_interval(secs => (q.body ->> 'seconds')::float)
    from unnest(p_tenant_ids, p_unit_ids, p_bodies) as q (tenant_id, unit_id, body)
    where q.body ->> 'seconds' is not null
    on conflict (tenant_id, unit_id, timer_kind) do update set due_at = excluded.due_at;
    -- The end of a sleep is stored in the commit that begins it: so the handler continues after the sleep when it is
    -- woken.
    insert into stepwell.unit_checkpoint (tenant_id, unit_id, checkpoint_name, checkpoint_value, lease_no, saved_at)
    select u.tenant_id, u.unit_id, q.body ->> 'checkpoint', 'true', u.lease_no, v_now
    from unnest(p_tenant_ids, p_unit_ids, p_bodies) as q (tenant_id, unit_id, body)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where q.body ? 'checkpoint'
    on conflict do nothing;
    perform stepwell._handler_event_append(q.tenant_id, q.unit_id, p_session_id, o.event ->> 'type', o.event -> 'payload')
    from unnest(p_tenant_ids, p_unit_ids, p_bodies) as q (tenant_id, unit_id, body)
    cross join lateral jsonb_array_elements(q.body -> 'outbound') as o (event)
    where jsonb_typeof(q.body -> 'outbound') = 'array';
    insert into stepwell.event_wait (tenant_id, unit_id, run_id, event_type, since_at)
    select q.tenant_id, q.unit_id, stepwell._run_of(q.unit_id), q.body ->> 'event', v_now
    from unnest(p_tenant_ids, p_unit_ids, p_bodies) as q (tenant_id, unit_id, body)
    where q.body ->> 'outcome' = 'waiting';
    for v_unit in
        select distinct w.tenant_id, w.run_id, w.event_type
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.event_wait as w on q.tenant_id = w.tenant_id and q.unit_id = w.unit_id
        inner join stepwell.event_inbox as i
            on w.tenant_id = i.tenant_id and w.run_id = i.run_id and w.event_type = i.event_type
        where i.taken_by is null
        order by 1, 2, 3
    loop
        perform stepwell._waits_match(v_unit.tenant_id, v_unit.run_id, v_unit.event_type);
    end loop;
end
$$;

-- Why the events that a handler sends with a wait cannot be sent; null when they can. The first one that is rejected is kept in
-- event_validation_audit.
create or replace function stepwell._outbound_problem(p_tenant_id int, p_unit_id bigint, p_body text) returns text
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_events constant jsonb := p_body::jsonb -> 'outbound';
    v_bad record;
begin
    if jsonb_typeof(v_events) is distinct from 'array' or v_events = '[]' then
        return null;
    end if;
    select o.event, p.problem into v_bad
    from jsonb_array_elements(v_events) as o (event)
    cross join lateral (
        select stepwell._handler_event_problem(p_tenant_id, o.event ->> 'type', o.event -> 'payload') as problem) as p
    where p.problem is not null
    limit 1;
    if found then
        perform stepwell._event_reject_keep(p_tenant_id, v_bad.event ->> 'type', p_unit_id, v_bad.event -> 'payload');
    end if;
    return v_bad.problem;
end
$$;

-- The facets that a worker names for a wait, the primary one first.
create or replace function stepwell._facets_reported(p_tenant_id int, p_unit_id bigint, p_body jsonb) returns text[]
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if jsonb_typeof(p_body -> 'facets') is distinct from 'array' then
        return array_remove(array[p_body ->> 'facet'], null);
    end if;
    return stepwell._facets_order(
        (select u.state_machine_id from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id),
        stepwell._texts_of(p_body -> 'facets') || (p_body ->> 'facet'));
end
$$;
