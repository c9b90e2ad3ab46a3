-- How the graph advances: a step that ended releases its successors; a step that became ready is carried out by the
-- engine, or waits for a worker or a person. The other files of this room are the kinds of steps and the ways they end.
-- Callers hold the locks of the runs. SW004: the registry refuses.

-- Steps that completed or were skipped release their successors; those with no open predecessor become ready.
create or replace function stepwell._advance(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_next constant record := stepwell._successors_release(null, p_tenant_ids, p_unit_ids, null, null, 0, null);
begin
    perform stepwell._units_ready(array_agg(r.tenant_id order by r.unit_id), array_agg(r.unit_id order by r.unit_id),
        array_agg(r.released_count order by r.unit_id), v_next.has_engine_steps, v_next.has_slots)
    from unnest(v_next.releases) as r;
end
$$;

-- Which steps these units release: a step with other open predecessors is counted down here, a step without is
-- returned. The cost is that of the edges that leave the units. With p_session_id it is a report: only units with a
-- valid lease count, and the caller completes them and releases their successors in one statement. Without, the units
-- have ended already. The first steps returned may get a direct lease, up to p_direct_limit: those that the session
-- serves and that come before everything in the queue, when _queue_look allows it.
create or replace function stepwell._successors_release(
    p_session_id bigint, p_tenant_ids int[], p_unit_ids bigint[], p_lease_nos int[], p_executor_class_ids int[], p_direct_limit int,
    p_handler_ids int[],
    out held_ids bigint[], out has_contract boolean, out completions stepwell.transition_request[],
    out releases stepwell.transition_request[], out direct_count int, out has_engine_steps boolean, out has_slots boolean, out has_foreign_steps boolean,
    out queue_is_empty boolean, out is_capped boolean
)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    v_waiting stepwell.transition_request[];
    -- Jobs that stand alone release nothing: then the queue need not be looked at.
    v_queue constant record := stepwell._queue_look(p_tenant_ids, p_executor_class_ids,
        case when stepwell._unit_no(p_unit_ids[1]) = 0 and 0 = all (select stepwell._unit_no(q) from unnest(p_unit_ids) as q)
            then 0 else p_direct_limit end, p_handler_ids);
begin
    with held as materialized (
        select u.tenant_id, u.unit_id, u.lease_no, u.version_id, u.def_no, u.has_contract
        from (
            select unnest(p_tenant_ids) as tenant_id, unnest(p_unit_ids) as unit_id, unnest(p_lease_nos) as lease_no
        ) as q
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        where p_session_id is null
            or (u.lease_session_id = p_session_id and u.lease_no = q.lease_no and u.state_code in ('in_progress', 'overdue'))
    ), released as (
        select h.tenant_id, h.unit_id + r.to_no - h.def_no as unit_id, count(*)::int as released_count
        from held as h
        inner join stepwell.workflow_step_relations as r
            on h.tenant_id = r.tenant_id and h.version_id = r.version_id and h.def_no = r.from_no
        group by 1, 2
    ), waiting as (
        select d.unit_id, s.executor_class_id, s.has_deadline, s.slot_key, -s.priority as rank, s.pending_count <= d.released_count as is_free,
            row(d.tenant_id, d.unit_id, 'ready', null, null, null, d.released_count, null)::stepwell.transition_request as request,
            v.is_served,
            coalesce(s.pending_count <= d.released_count and s.slot_key is null and v.is_served and v_queue.may_lease_directly
                and (v_queue.unit_id is null or (-s.priority, s.unit_id) < (v_queue.rank, v_queue.unit_id)), false) as can_lease_directly
        from released as d
        inner join stepwell.work_unit as s on d.tenant_id = s.tenant_id and d.unit_id = s.unit_id
        cross join lateral (
            select s.executor_class_id = any (p_executor_class_ids)
                and (p_handler_ids is null or (select o.handler_id from stepwell.operation as o
                    where o.tenant_id = s.tenant_id and o.operation_id = s.operation_id) = any (p_handler_ids)) as is_served
        ) as v
        where s.state_code = 'not_started'
    )
    select h.*, n.*, v_queue.is_dry, v_queue.is_capped
    into held_ids, has_contract, completions, releases, direct_count, has_engine_steps, has_slots, has_foreign_steps,
        v_waiting, queue_is_empty, is_capped
    from (
        select array_agg(h.unit_id), bool_or(h.has_contract), array_agg(row(
            h.tenant_id, h.unit_id, 'completed', null, null, null, 0, h.lease_no)::stepwell.transition_request)
        from held as h
    ) as h
    cross join (
        select array_agg(w.request) filter (where w.is_free),
            least(count(*) filter (where w.can_lease_directly), p_direct_limit)::int,
            bool_or(w.is_free and (w.executor_class_id is null or w.has_deadline)), bool_or(w.is_free and w.slot_key is not null),
            bool_or(w.is_free and not w.is_served),
            array_agg(w.request) filter (where not w.is_free)
        -- Direct leases first, then by rank: in one key, since each further key costs a sort of a batch a good part of its time.
        from (select w.* from waiting as w order by w.rank + case when w.can_lease_directly then 0 else 65536 end, w.unit_id) as w
    ) as n;
    if v_waiting is not null and (p_session_id is null or not has_contract) then
        update stepwell.work_unit as s set pending_count = s.pending_count - w.released_count
        from unnest(v_waiting) as w
        where s.tenant_id = w.tenant_id and s.unit_id = w.unit_id;
    end if;
end
$$;

-- Makes steps ready whose predecessors have ended, and does at once what follows.
create or replace function stepwell._units_ready(
    p_tenant_ids int[], p_unit_ids bigint[], p_released_counts int[], p_has_engine_steps boolean, p_has_slots boolean
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    if p_unit_ids is null then
        return;
    end if;
    perform stepwell._units_move(p_tenant_ids, p_unit_ids, 'ready', 'mow_orchestrator', 'condition_resolved', null,
        'engine', null, null, p_released_counts);
    perform stepwell._ready_follow(p_tenant_ids, p_unit_ids, p_has_engine_steps, p_has_slots);
end
$$;

-- What follows when steps became ready. Operations are in the queue already; those with a concurrency key are put in
-- line; the kinds that the engine carries out (conditional, map, sub-workflow, wait) are carried out; human steps are
-- opened. A step with a deadline gets it now.
create or replace function stepwell._ready_follow(
    p_tenant_ids int[], p_unit_ids bigint[], p_has_engine_steps boolean, p_has_slots boolean
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    if p_has_slots then
        perform stepwell._slots_take(p_tenant_ids, p_unit_ids);
    end if;
    if p_has_engine_steps then
        perform stepwell._engine_steps(p_tenant_ids, p_unit_ids);
    end if;
end
$$;

-- Steps of the engine and of workers that became ready get their deadline, counted from now. One that is set stays.
create or replace function stepwell._deadlines_begin(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_begun record;
begin
    with begun as (
        update stepwell.work_unit as u set
            deadline_at = stepwell._deadline_of(u.tenant_id, jsonb_build_object('deadline', d.config -> 'deadline'), u.last_transition_at)
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id), stepwell.workflow_step_def as d
        where u.tenant_id = q.tenant_id and u.unit_id = q.unit_id and u.has_deadline and u.deadline_at is null
            and d.tenant_id = u.tenant_id and d.version_id = u.version_id and d.step_no = u.def_no
        returning u.tenant_id, u.unit_id
    )
    select array_agg(b.tenant_id) as tenant_ids, array_agg(b.unit_id) as unit_ids into v_begun from begun as b;
    perform stepwell._deadline_timers(v_begun.tenant_ids, v_begun.unit_ids);
end
$$;

-- Carries out ready steps that need no worker. A conditional decides, or stays ready until everything before it has
-- ended; a Map creates its items; a sub-workflow starts its run; a wait waits for its event; a human step is opened and
-- stays ready until a person claims it. A step whose expression is costly stays ready until a worker has evaluated it.
-- Other steps of the list only get their deadline.
create or replace function stepwell._engine_steps(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_held_ids bigint[];
    v_kind record;
    v_due record;
begin
    for v_kind in
        select d.step_kind, array_agg(u.tenant_id order by u.unit_id) as tenant_ids,
            array_agg(u.unit_id order by u.unit_id) as unit_ids, bool_or(bool_or(u.has_deadline)) over () as deadlines,
            bool_or(d.step_kind = 'human') over () as humans, bool_or(d.step_kind = 'conditional') over () as conditionals
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        group by d.step_kind
        order by d.step_kind
    loop
        -- Once, before the first kind is carried out.
        if v_held_ids is null then
            if v_kind.deadlines then
                perform stepwell._deadlines_begin(p_tenant_ids, p_unit_ids);
            end if;
            if v_kind.humans then
                perform stepwell._humans_open(p_tenant_ids, p_unit_ids);
            end if;
            v_held_ids := case when v_kind.conditionals then stepwell._conditionals_hold(p_tenant_ids, p_unit_ids) else '{}' end;
        end if;
        continue when v_kind.step_kind not in ('wait', 'subworkflow', 'conditional', 'map');
        -- What was carried out before may have cancelled these.
        select
            array_agg(u.tenant_id order by u.unit_id) filter (where e.is_costly is not true) as tenant_ids,
            array_agg(u.unit_id order by u.unit_id) filter (where e.is_costly is not true) as unit_ids,
            array_agg(e.value order by u.unit_id) filter (where e.is_costly is not true) as values,
            array_agg(e.problem order by u.unit_id) filter (where e.is_costly is not true) as problems,
            array_agg(u.tenant_id order by u.unit_id) filter (where e.is_costly) as costly_tenant_ids,
            array_agg(u.unit_id order by u.unit_id) filter (where e.is_costly) as costly_ids
        into v_due
        from unnest(v_kind.tenant_ids, v_kind.unit_ids) as q (tenant_id, unit_id)
        -- By its key (offset 0): in a join with a state, a plan for young tables reads all units of the tenant.
        cross join lateral (
            select w.tenant_id, w.unit_id, w.version_id, w.def_no, w.state_code from stepwell.work_unit as w
            where w.tenant_id = q.tenant_id and w.unit_id = q.unit_id offset 0
        ) as u
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        cross join lateral stepwell._step_evaluate(u.tenant_id, u.unit_id, d.step_kind, d.config, d.inputs, false) as e
        where u.state_code = 'ready' and not u.unit_id = any (v_held_ids);
        if v_due.costly_ids is not null then
            perform stepwell._steps_defer(v_due.costly_tenant_ids, v_due.costly_ids);
        end if;
        continue when v_due.unit_ids is null;
        perform stepwell._units_move(v_due.tenant_ids, v_due.unit_ids, 'in_progress', 'mow_orchestrator',
            'condition_resolved', null, 'engine');
        perform stepwell._engine_step(v_kind.step_kind, v_due.tenant_ids, v_due.unit_ids, v_due.values, v_due.problems);
    end loop;
end
$$;

-- Carries out steps of one kind that are in progress, with the values of their expressions.
create or replace function stepwell._engine_step(
    p_kind text, p_tenant_ids int[], p_unit_ids bigint[], p_values jsonb[], p_problems text[]
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    case p_kind
        when 'conditional' then perform stepwell._conditionals_decide(p_tenant_ids, p_unit_ids, p_values, p_problems);
        when 'map' then perform stepwell._maps_open(p_tenant_ids, p_unit_ids, p_values, p_problems);
        when 'subworkflow' then perform stepwell._subruns_start(p_tenant_ids, p_unit_ids, p_values, p_problems);
        else perform stepwell._waits_open(p_tenant_ids, p_unit_ids);
    end case;
end
$$;

-- A Map or a sub-workflow whose outputs are together larger than allowed: the step fails for good.
create or replace function stepwell._engine_result_refuse(p_tenant_id int, p_unit_id bigint, p_bytes bigint) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._units_fail(array[p_tenant_id], array[p_unit_id], array[jsonb_build_object(
        'failure_class', 'result_too_large', 'outcome', 'dead', 'error', jsonb_build_object('type', 'ResultTooLarge',
            'message', stepwell._too_large('result', p_bytes, stepwell._limit('limits.composed_result_bytes'))))],
        'mow_orchestrator');
end
$$;

-- Steps that completed again, this time without an output: null is the output of their last completion, so that nobody reads
-- the output of an earlier one.
create or replace function stepwell._outputs_empty(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    insert into stepwell.unit_output (tenant_id, unit_id, lease_no, output, created_at)
    select u.tenant_id, u.unit_id, u.lease_no, 'null', u.last_transition_at
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where u.state_code = 'completed' and exists (
        select from stepwell.unit_output as o
        where o.tenant_id = u.tenant_id and o.unit_id = u.unit_id and o.lease_no < u.lease_no)
    on conflict (tenant_id, unit_id, lease_no) do nothing;
end
$$;

-- Steps that the engine carries out (map, sub-workflow, wait) complete with an output and release their successors.
create or replace function stepwell._engine_complete(
    p_tenant_ids int[], p_unit_ids bigint[], p_outputs jsonb[], p_by_event boolean default false
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
begin
    insert into stepwell.unit_output (tenant_id, unit_id, lease_no, output, created_at)
    select q.tenant_id, q.unit_id, u.lease_no, q.output, v_now
    from unnest(p_tenant_ids, p_unit_ids, p_outputs) as q (tenant_id, unit_id, output)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where q.output is not null;
    perform stepwell._units_move(p_tenant_ids, p_unit_ids, 'completed', case when p_by_event then 'system' else 'mow_orchestrator' end,
        case when p_by_event then 'event' else 'condition_resolved' end, null, 'engine');
    perform stepwell._advance(p_tenant_ids, p_unit_ids);
end
$$;
