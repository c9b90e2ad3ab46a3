-- Waits: a step waits for an event or a time; the first of them wakes it. Callers of the helpers hold the locks of the
-- runs. SW004: the registry refuses.

-- Delivers an event from outside to a run or a free-standing job. It wakes the unit that waits for its type, or is kept
-- until one does.
-- Locks: the run.
-- Idempotency: by (tenant, event key): the second delivery changes nothing and returns accepted = false.
-- Raises: SW001 for bad input; SW002 when there is no such run; SW003 when it has ended; SW006 when the payload is too
--   large; SW007 for another tenant.
create or replace function stepwell.fn_signal(
    p_tenant_id int, p_run_id bigint, p_event_type text, p_payload jsonb, p_event_key text, p_actor text default 'client'
) returns table (accepted boolean, woken_unit_id bigint)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_root stepwell.work_unit;
begin
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'run.start');
    if coalesce(length(p_event_type), 0) not between 1 and 200 or coalesce(length(p_event_key), 0) not between 1 and 500 then
        raise exception using errcode = 'SW001', message = case
            when coalesce(length(p_event_type), 0) not between 1 and 200 then 'event_type: 1 to 200 characters are accepted'
            else 'event_key: 1 to 500 characters are accepted' end;
    end if;
    perform stepwell._secret_refuse('event_type', p_event_type);
    perform stepwell._values_check('payload', 'payload', array[p_payload], 'limits.payload_bytes');
    perform stepwell._runs_and_jobs_lock(array[p_tenant_id], array[stepwell._run_unit(p_run_id)]);
    select u.* into v_root from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = stepwell._run_unit(p_run_id);
    if not found then
        raise exception using errcode = 'SW002', message = format('run %s does not exist', p_run_id);
    end if;
    if exists (select from stepwell.event_inbox as i where i.tenant_id = p_tenant_id and i.event_key = p_event_key) then
        return query select false, i.taken_by from stepwell.event_inbox as i
            where i.tenant_id = p_tenant_id and i.event_key = p_event_key;
        return;
    end if;
    perform stepwell._signal_check(v_root);
    insert into stepwell.event_inbox (tenant_id, event_key, run_id, event_type, payload, received_at)
    -- Events of one type are taken in the order they came, also where the clock did not move between them.
    values (p_tenant_id, p_event_key, p_run_id, p_event_type, coalesce(p_payload, '{}'), greatest(stepwell.now(), (
        select max(i.received_at) + interval '1 microsecond' from stepwell.event_inbox as i
        where i.tenant_id = p_tenant_id and i.run_id = p_run_id and i.event_type = p_event_type and i.taken_by is null)))
    on conflict (tenant_id, event_key) do nothing;
    if not found then
        -- The same key came for another run at the same time, and was first.
        return query select false, i.taken_by from stepwell.event_inbox as i
            where i.tenant_id = p_tenant_id and i.event_key = p_event_key;
        return;
    end if;
    perform stepwell._event_append(p_tenant_id, stepwell._run_unit(p_run_id), 'signal.received', p_actor,
        jsonb_build_object('signal_type', p_event_type, 'event_key', p_event_key));
    perform stepwell._waits_match(p_tenant_id, p_run_id, p_event_type);
    return query select true, i.taken_by from stepwell.event_inbox as i
        where i.tenant_id = p_tenant_id and i.event_key = p_event_key;
end
$$;

-- Checks that a run or a free-standing job has not ended, so that it accepts events.
-- Raises: SW003 when it has.
create or replace function stepwell._signal_check(p_root stepwell.work_unit) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if p_root.state_code in ('completed', 'cancelled', 'cannot_complete')
        or p_root.state_code = 'failed' and p_root.scope = 'workflow_run' then
        raise exception using errcode = 'SW003', message = format('run %s has ended (%s) and accepts no events',
            stepwell._run_of(p_root.unit_id), p_root.state_code);
    end if;
end
$$;

-- Wait steps begin to wait for their event, with their time-out; an event that came early ends them at once.
create or replace function stepwell._waits_open(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_wait record;
begin
    perform stepwell._units_move(p_tenant_ids, p_unit_ids, 'waiting', 'mow_orchestrator', 'condition_resolved', null,
        'engine', null, array(
            select jsonb_build_object('waiting_facet', 'waiting_external', 'event_type', d.config ->> 'event')
            from unnest(p_tenant_ids, p_unit_ids) with ordinality as q (tenant_id, unit_id, ord)
            inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
            inner join stepwell.workflow_step_def as d
                on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
            order by q.ord));
    for v_wait in
        select u.tenant_id, u.unit_id, d.config ->> 'event' as event_type, d.timeout_seconds
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        order by u.unit_id
    loop
        if v_wait.timeout_seconds is not null then
            insert into stepwell.timer (tenant_id, unit_id, timer_kind, due_at)
            values (v_wait.tenant_id, v_wait.unit_id, 'wait_timeout', v_now + make_interval(secs => v_wait.timeout_seconds));
        end if;
        insert into stepwell.event_wait (tenant_id, unit_id, run_id, event_type, since_at)
        values (v_wait.tenant_id, v_wait.unit_id, stepwell._run_of(v_wait.unit_id), v_wait.event_type, v_now);
        perform stepwell._waits_match(v_wait.tenant_id, stepwell._run_of(v_wait.unit_id), v_wait.event_type);
    end loop;
end
$$;

-- Gives kept events to waiting units of one run and event type: the first event to the first unit, each event once.
create or replace function stepwell._waits_match(p_tenant_id int, p_run_id bigint, p_event_type text) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_woken record;
begin
    with waits as (
        select w.unit_id, row_number() over (order by w.since_at, w.unit_id) as place
        from stepwell.event_wait as w
        where w.tenant_id = p_tenant_id and w.run_id = p_run_id and w.event_type = p_event_type
    ), events as (
        select i.event_key, i.payload, row_number() over (order by i.received_at, i.event_key) as place
        from stepwell.event_inbox as i
        where i.tenant_id = p_tenant_id and i.run_id = p_run_id and i.event_type = p_event_type
            and i.taken_by is null
    ), pair as (
        select w.unit_id, e.event_key, e.payload from waits as w inner join events as e on w.place = e.place
    ), taken as (
        update stepwell.event_inbox as i set taken_by = p.unit_id
        from pair as p
        where i.tenant_id = p_tenant_id and i.event_key = p.event_key
    )
    select array_agg(p.unit_id order by p.unit_id) as unit_ids, array_agg(p.event_key order by p.unit_id) as event_keys,
        array_agg(p.payload order by p.unit_id) as payloads, array_agg(p_tenant_id) as tenant_ids
    into v_woken
    from pair as p;
    if v_woken.unit_ids is not null then
        perform stepwell._units_wake(v_woken.tenant_ids, v_woken.unit_ids, 'RESUMED', p_event_type, v_woken.payloads,
            v_woken.event_keys);
    end if;
end
$$;

-- Ends the waiting of units. A unit of a handler becomes ready again, with the reason; a wait step completes with the
-- payload of the event, or fails when its time is up; a unit with a person in charge is in progress again.
create or replace function stepwell._units_wake(
    p_tenant_ids int[], p_unit_ids bigint[], p_task_type text, p_event_type text, p_payloads jsonb[], p_refs text[]
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_part record;
begin
    perform stepwell._people_wake(p_tenant_ids, p_unit_ids, p_task_type, p_refs);
    delete from stepwell.event_wait as w
    using unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    where w.tenant_id = q.tenant_id and w.unit_id = q.unit_id;
    delete from stepwell.timer as t
    using unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    where t.tenant_id = q.tenant_id and t.unit_id = q.unit_id and t.timer_kind in ('wait_timeout', 'sleep');
    select
        array_agg(q.tenant_id order by q.unit_id) filter (where u.executor_class_id is not null) as tenant_ids,
        array_agg(q.unit_id order by q.unit_id) filter (where u.executor_class_id is not null) as unit_ids,
        array_agg(jsonb_build_object('resolution_ref', coalesce(q.ref, p_task_type)) order by q.unit_id)
            filter (where u.executor_class_id is not null) as evidence,
        array_agg(q.payload order by q.unit_id) filter (where u.executor_class_id is not null) as payloads,
        array_agg(q.tenant_id order by q.unit_id) filter (where u.executor_class_id is null) as node_tenant_ids,
        array_agg(q.unit_id order by q.unit_id) filter (where u.executor_class_id is null) as node_ids,
        array_agg(q.payload order by q.unit_id) filter (where u.executor_class_id is null) as node_payloads
    into v_part
    from unnest(p_tenant_ids, p_unit_ids, p_payloads, p_refs) as q (tenant_id, unit_id, payload, ref)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where u.pic_id is null;
    if v_part.unit_ids is not null then
        insert into stepwell.unit_wake (tenant_id, unit_id, task_type, event_type, payload, woken_at)
        select q.tenant_id, q.unit_id, p_task_type, p_event_type, q.payload, v_now
        from unnest(v_part.tenant_ids, v_part.unit_ids, v_part.payloads) as q (tenant_id, unit_id, payload)
        on conflict (tenant_id, unit_id) do update set task_type = excluded.task_type,
            event_type = excluded.event_type, payload = excluded.payload, woken_at = excluded.woken_at;
        perform stepwell._units_move(v_part.tenant_ids, v_part.unit_ids, 'ready', 'system', 'event', null, 'engine',
            v_part.evidence);
        perform stepwell._slots_take(v_part.tenant_ids, v_part.unit_ids);
    end if;
    if v_part.node_ids is not null and p_task_type = 'WAITING_TIMEOUT' then
        perform stepwell._units_fail(v_part.node_tenant_ids, v_part.node_ids,
            array_fill('{"failure_class": "waiting_timeout", "error": {"type": "WaitingTimeout",
                "message": "the event did not come before the time-out"}}'::jsonb, array[cardinality(v_part.node_ids)]), 'system');
    elsif v_part.node_ids is not null then
        perform stepwell._engine_complete(v_part.node_tenant_ids, v_part.node_ids, v_part.node_payloads, true);
    end if;
    perform stepwell._runs_settle(p_tenant_ids, p_unit_ids);
end
$$;

-- Ends the waiting of units with a person in charge: they are in progress again (T3r). A unit that does not wait is
-- left alone.
create or replace function stepwell._people_wake(
    p_tenant_ids int[], p_unit_ids bigint[], p_task_type text, p_refs text[]
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_woken record;
begin
    select array_agg(u.tenant_id order by u.unit_id) as tenant_ids, array_agg(u.unit_id order by u.unit_id) as unit_ids,
        array_agg(jsonb_build_object('resolution_ref', coalesce(q.ref, p_task_type)) order by u.unit_id) as evidence
    into v_woken
    from unnest(p_tenant_ids, p_unit_ids, p_refs) as q (tenant_id, unit_id, ref)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where u.pic_id is not null and u.state_code = 'waiting';
    if v_woken.unit_ids is null then
        return;
    end if;
    perform stepwell._units_move(v_woken.tenant_ids, v_woken.unit_ids, 'in_progress', 'system', 'event', 'facet_resolved',
        'engine', v_woken.evidence);
    perform stepwell._people_timers(t.tenant_id, v_woken.unit_ids)
    from (select distinct x.tenant_id from unnest(v_woken.tenant_ids) as x (tenant_id)) as t;
end
$$;
