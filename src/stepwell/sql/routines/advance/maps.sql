-- Maps: one instance of the body for each item of a list, with a limit on how many run at once, and one result at the
-- end. Callers hold the locks of the runs. SW004: the registry refuses.

-- Starts the items of Map steps, by the values of their lists. An empty list completes at once; a value that is no list,
-- or a list that is too long, fails the step for good. A Map that was cancelled, and is opened again with the same list,
-- continues with its items.
create or replace function stepwell._maps_open(
    p_tenant_ids int[], p_unit_ids bigint[], p_values jsonb[], p_problems text[]
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_limit constant int := stepwell._limit('limits.map_items');
    v_map record;
    v_continues boolean;
    v_problem text;
begin
    for v_map in
        select u.tenant_id, u.unit_id, d.config, q.value as items, q.problem
        from unnest(p_tenant_ids, p_unit_ids, p_values, p_problems) as q (tenant_id, unit_id, value, problem)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        order by u.unit_id
    loop
        -- The items of an earlier Map may have failed already, and cancelled this one.
        continue when not exists (select from stepwell.work_unit as u
            where u.tenant_id = v_map.tenant_id and u.unit_id = v_map.unit_id and u.state_code = 'in_progress');
        v_continues := stepwell._map_is_same(v_map.tenant_id, v_map.unit_id, v_map.items);
        if v_continues is not null then
            -- Its items were not counted while it was not open.
            update stepwell.work_unit as u set pending_count = (select count(*) from stepwell.work_unit as s
                where s.tenant_id = u.tenant_id and s.parent_id = u.unit_id and s.scope = 'step' and not stepwell._has_ended(s.state_code))
            where u.tenant_id = v_map.tenant_id and u.unit_id = v_map.unit_id;
        end if;
        if not v_continues then
            perform stepwell._map_forget(v_map.tenant_id, v_map.unit_id);
        end if;
        v_problem := case
            when v_map.problem is not null then v_map.problem
            when jsonb_typeof(v_map.items) is distinct from 'array' then format('over: %s gives %s, not a list',
                v_map.config ->> 'over', coalesce(jsonb_typeof(v_map.items), 'nothing'))
            when jsonb_array_length(v_map.items) > v_limit then format('over: %s gives %s items; at most %s are accepted',
                v_map.config ->> 'over', jsonb_array_length(v_map.items), v_limit)
            when v_continues then null
            else stepwell._map_size_problem(v_map.tenant_id, v_map.unit_id, jsonb_array_length(v_map.items)) end;
        if v_problem is not null then
            perform stepwell._units_fail(array[v_map.tenant_id], array[v_map.unit_id], array[jsonb_build_object(
                'failure_class', 'expression_error', 'outcome', 'dead', 'error',
                jsonb_build_object('type', 'ExpressionError', 'message', v_problem))], 'mow_orchestrator');
        elsif jsonb_array_length(v_map.items) = 0 then
            perform stepwell._engine_complete(array[v_map.tenant_id], array[v_map.unit_id], array['[]'::jsonb]);
        elsif v_continues then
            perform stepwell._items_release(v_map.tenant_id, array[v_map.unit_id]);
        else
            perform stepwell._map_fill(v_map.tenant_id, v_map.unit_id, v_map.items, (v_map.config ->> 'max_concurrency')::int);
        end if;
    end loop;
end
$$;

-- Whether a Map has items already, and its list is still the same; null when it has none, as almost every Map that opens.
create or replace function stepwell._map_is_same(p_tenant_id int, p_unit_id bigint, p_items jsonb) returns boolean
language sql stable
set search_path = stepwell, pg_temp
as $$
    select jsonb_agg(i.item order by i.item_no) = p_items
    from stepwell.map_item as i
    where i.tenant_id = p_tenant_id and i.unit_id = p_unit_id
$$;

-- The items of a Map that is opened again with another list: those that are open are cancelled. All stay in the history,
-- but do not belong to the Map any more.
create or replace function stepwell._map_forget(p_tenant_id int, p_unit_id bigint) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._map_abort(p_tenant_id, p_unit_id);
    delete from stepwell.map_item as m where m.tenant_id = p_tenant_id and m.unit_id = p_unit_id;
    update stepwell.work_unit as u set parent_id = null
    where u.tenant_id = p_tenant_id and u.parent_id = p_unit_id and u.scope = 'step';
    delete from stepwell.concurrency_slot as s
    where s.tenant_id = p_tenant_id
        and (s.slot_key = format('run:%s:map:%s', stepwell._run_of(p_unit_id), stepwell._unit_no(p_unit_id))
            or s.slot_key like format('run:%s:%%:%s:%%', stepwell._run_of(p_unit_id), stepwell._unit_no(p_unit_id)));
end
$$;

-- Why this input is too long for the Maps of a version whose lists are known when the run starts (maps_input); null when
-- it is not. So nothing runs before a Map that must fail.
create or replace function stepwell._maps_input_problem(p_version stepwell.workflow_version, p_input jsonb) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    with map as (
        select d.step_no, d.config ->> 'over' as over, jsonb_array_length(l.items) as item_count, b.size
        from stepwell.workflow_step_def as d
        cross join lateral (
            select p_input #> (string_to_array(d.config ->> 'over', '.'))[3:] as items) as l
        cross join lateral (
            select count(*) as size from stepwell.workflow_step_def as x
            where x.tenant_id = d.tenant_id and x.version_id = d.version_id and x.scope_no = d.step_no
        ) as b
        where d.tenant_id = p_version.tenant_id and d.version_id = p_version.version_id
            and stepwell._step_maps_input(d.config || jsonb_build_object('kind', d.step_kind, 'scope', d.scope_no,
                'branch', d.branch_no, 'mandatory', d.mandatory))
            and jsonb_typeof(l.items) = 'array'
    )
    select coalesce((
        select format('%s gives %s items; at most %s are accepted', m.over, m.item_count, stepwell._limit('limits.map_items'))
        from map as m
        where m.item_count > stepwell._limit('limits.map_items')
        order by m.step_no
        limit 1
    ), (
        select format('%s items of %s steps each are too many for one run, which has numbers for %s steps',
            max(m.item_count), max(m.size), 1048575)
        from map as m
        having sum(m.item_count * m.size) > 1048575 - p_version.step_count
    ))
$$;

-- Why a Map with so many items has no room in its run, null when it has. The Map fails with it: the report of the step
-- before it must not.
create or replace function stepwell._map_size_problem(p_tenant_id int, p_unit_id bigint, p_item_count int) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select format('items: %s items of %s steps each are too many for this run; it has numbers for %s more steps',
        p_item_count, b.size, greatest(1048575 - r.next_unit_no, 0))
    from stepwell.work_unit as u
    inner join stepwell.run_detail as r on u.tenant_id = r.tenant_id and stepwell._run_of(u.unit_id) = r.run_id
    cross join lateral (
        select count(*) as size from stepwell.workflow_step_def as d
        where d.tenant_id = u.tenant_id and d.version_id = u.version_id and d.scope_no = u.def_no
    ) as b
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id and r.next_unit_no + p_item_count * b.size > 1048575
$$;

-- Writes the units of the items of a Map, each item an instance of the body with unit numbers of its own, and makes
-- their first steps ready. At most max_concurrency steps of the Map run at once.
-- Locks: run_detail, for the next free unit number.
create or replace function stepwell._map_fill(p_tenant_id int, p_unit_id bigint, p_items jsonb, p_max_concurrency int)
returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_machine constant text := stepwell._machine_of('step');
    v_run_id constant bigint := stepwell._run_of(p_unit_id);
    v_count constant int := jsonb_array_length(p_items);
    v_map stepwell.work_unit;
    v_body record;
    v_base int;
    v_first record;
    v_slot_key text;
begin
    select u.* into v_map from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    select min(d.step_no) as first_no, count(*)::int as size into v_body
    from stepwell.workflow_step_def as d
    where d.tenant_id = p_tenant_id and d.version_id = v_map.version_id and d.scope_no = v_map.def_no;
    update stepwell.run_detail as r set next_unit_no = r.next_unit_no + v_count * v_body.size
    where r.tenant_id = p_tenant_id and r.run_id = v_run_id
    returning r.next_unit_no - v_count * v_body.size into v_base;
    if p_max_concurrency is not null then
        v_slot_key := format('run:%s:map:%s', v_run_id, stepwell._unit_no(p_unit_id));
        insert into stepwell.concurrency_slot (tenant_id, slot_key, max_count)
        values (p_tenant_id, v_slot_key, p_max_concurrency);
    else
        v_slot_key := (select stepwell._workflow_slot(p_tenant_id, r.workflow_id, nullif(stepwell._workspace_of(p_tenant_id, p_unit_id), 0)) from stepwell.run_detail as r
            where r.tenant_id = p_tenant_id and r.run_id = v_run_id);
    end if;
    -- A Parallel with a limit inside the body counts for each item by itself.
    insert into stepwell.concurrency_slot (tenant_id, slot_key, max_count)
    select p_tenant_id, format('run:%s:%s:%s:%s', v_run_id, g.group_no, stepwell._unit_no(p_unit_id), i.item_no), g.max_concurrency
    from stepwell.workflow_group as g
    cross join generate_series(0, v_count - 1) as i (item_no)
    where g.tenant_id = p_tenant_id and g.version_id = v_map.version_id and exists (
        select from stepwell.workflow_step_def as d
        where d.tenant_id = g.tenant_id and d.version_id = g.version_id and d.scope_no = v_map.def_no
            and d.group_no = g.group_no);
    insert into stepwell.map_item (tenant_id, unit_id, item_no, item)
    select p_tenant_id, p_unit_id, i.ord - 1, i.item from jsonb_array_elements(p_items) with ordinality as i (item, ord);
    insert into stepwell.work_unit (
        tenant_id, unit_id, version_id, def_no, operation_id, executor_class_id, pending_count, priority, max_attempts, mandatory,
        has_contract, last_transition_at, scope, state_machine_id, state_code, slot_key, parent_id, item_no, has_deadline)
    select p_tenant_id, stepwell._run_unit(v_run_id) | (v_base + i.item_no * v_body.size + d.step_no - v_body.first_no),
        v_map.version_id, d.step_no, d.operation_id, o.executor_class_id, d.pending_count, d.priority + v_map.priority,
        d.max_attempts, false, d.has_contract, v_now, 'step', v_machine, 'not_started',
        case when d.group_no is not null then format('run:%s:%s:%s:%s', v_run_id, d.group_no, stepwell._unit_no(p_unit_id), i.item_no)
            when o.executor_class_id is not null then v_slot_key end, p_unit_id, i.item_no, d.has_deadline
    from generate_series(0, v_count - 1) as i (item_no)
    cross join stepwell.workflow_step_def as d
    left join stepwell.operation as o on d.tenant_id = o.tenant_id and d.operation_id = o.operation_id
    where d.tenant_id = p_tenant_id and d.version_id = v_map.version_id and d.scope_no = v_map.def_no
    order by i.item_no, d.step_no;
    update stepwell.run_progress as p
    set open_count = p.open_count + v_count * v_body.size, map_count = p.map_count + 1
    where p.tenant_id = p_tenant_id and p.run_id = v_run_id;
    update stepwell.work_unit as u set pending_count = v_count * v_body.size
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    select array_agg(p_tenant_id) as tenant_ids, array_agg(0) as released_counts,
        array_agg(stepwell._run_unit(v_run_id) | (v_base + i.item_no * v_body.size + d.step_no - v_body.first_no)
            order by i.item_no, d.step_no) as unit_ids,
        bool_or(d.step_kind <> 'operation' or d.has_deadline) as has_engine_steps, bool_or(d.group_no is not null) as has_groups
    into v_first
    from generate_series(0, v_count - 1) as i (item_no)
    cross join stepwell.workflow_step_def as d
    where d.tenant_id = p_tenant_id and d.version_id = v_map.version_id and d.scope_no = v_map.def_no
        and d.pending_count = 0;
    perform stepwell._units_ready(v_first.tenant_ids, v_first.unit_ids, v_first.released_counts, v_first.has_engine_steps,
        v_slot_key is not null or v_first.has_groups);
end
$$;

-- Ends the Map steps of these runs whose items have all ended: completed with the results of the items in order, or
-- failed for good when a mandatory step of an item could not complete or was cancelled. Returns how many ended.
create or replace function stepwell._maps_settle(p_tenant_ids int[], p_run_ids bigint[]) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_map record;
    v_failed int;
    v_lost int;
    v_count int := 0;
    v_bytes bigint;
begin
    for v_map in
        select u.tenant_id, u.unit_id, u.version_id, u.def_no, v.failure_policy
        from (
            select distinct m.tenant_id, m.unit_id
            from unnest(p_tenant_ids, p_run_ids) as q (tenant_id, run_id)
            inner join stepwell.map_item as m
                on q.tenant_id = m.tenant_id and m.unit_id between stepwell._run_unit(q.run_id) and stepwell._run_last(q.run_id)
                and m.item_no = 0
        ) as o
        inner join stepwell.work_unit as u on o.tenant_id = u.tenant_id and o.unit_id = u.unit_id
        inner join stepwell.workflow_version as v on u.tenant_id = v.tenant_id and u.version_id = v.version_id
        where u.state_code in ('in_progress', 'overdue')
            and (u.pending_count = 0 or v.failure_policy = 'abort-dependents')
        order by u.unit_id desc
    loop
        -- A failure aborts the other items at once; that a step was cancelled counts when all have ended.
        select (count(*) filter (where u.state_code = 'cannot_complete'))::int, count(*)::int into v_failed, v_lost
        from stepwell.work_unit as u
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        where u.tenant_id = v_map.tenant_id and u.parent_id = v_map.unit_id and u.scope = 'step'
            and u.state_code in ('cannot_complete', 'cancelled') and d.mandatory and not u.failure_caught;
        if v_failed > 0 and v_map.failure_policy = 'abort-dependents' then
            perform stepwell._map_abort(v_map.tenant_id, v_map.unit_id);
        end if;
        if exists (select from stepwell.work_unit as u
            where u.tenant_id = v_map.tenant_id and u.unit_id = v_map.unit_id and u.pending_count > 0) then
            continue;
        end if;
        v_count := v_count + 1;
        if v_lost > 0 then
            perform stepwell._units_fail(array[v_map.tenant_id], array[v_map.unit_id], array[jsonb_build_object(
                'failure_class', 'upstream_failed', 'outcome', 'dead', 'error', jsonb_build_object('type', 'MapFailed',
                    'message', format('%s steps of the items could not complete', v_lost)))], 'mow_orchestrator');
            continue;
        end if;
        v_bytes := stepwell._map_result_bytes(v_map.tenant_id, v_map.unit_id);
        if v_bytes > stepwell._limit('limits.composed_result_bytes') then
            perform stepwell._engine_result_refuse(v_map.tenant_id, v_map.unit_id, v_bytes);
        else
            perform stepwell._engine_complete(array[v_map.tenant_id], array[v_map.unit_id],
                array[stepwell._map_result(v_map.tenant_id, v_map.unit_id)]);
        end if;
    end loop;
    return v_count;
end
$$;

-- The result of a Map: one entry for each item, in order: the output of the body's only last step, or an object of the
-- outputs of its last steps by id. A step without output gives null.
create or replace function stepwell._map_result(p_tenant_id int, p_unit_id bigint) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select jsonb_agg(i.result order by i.item_no)
    from (
        select u.item_no, case count(*) when 1 then jsonb_agg(coalesce(o.output, 'null')) -> 0
            else jsonb_object_agg(d.step_id, coalesce(o.output, 'null')) end as result
        from stepwell.work_unit as u
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        left join stepwell.unit_output as o
            on u.tenant_id = o.tenant_id and u.unit_id = o.unit_id and u.lease_no = o.lease_no
        where u.tenant_id = p_tenant_id and u.parent_id = p_unit_id and u.scope = 'step'
            and not exists (select from stepwell.workflow_step_relations as r
                where r.tenant_id = u.tenant_id and r.version_id = u.version_id and r.from_no = u.def_no)
        group by u.item_no
    ) as i
$$;

-- The size of what _map_result composes, without composing it: ten thousand large outputs do not fit into memory.
create or replace function stepwell._map_result_bytes(p_tenant_id int, p_unit_id bigint) returns bigint
language sql stable
set search_path = stepwell, pg_temp
as $$
    select sum(stepwell._value_size(o.output))
    from stepwell.work_unit as u
    inner join stepwell.unit_output as o
        on u.tenant_id = o.tenant_id and u.unit_id = o.unit_id and u.lease_no = o.lease_no
    where u.tenant_id = p_tenant_id and u.parent_id = p_unit_id and u.scope = 'step'
        and not exists (select from stepwell.workflow_step_relations as r
            where r.tenant_id = u.tenant_id and r.version_id = u.version_id and r.from_no = u.def_no)
$$;

-- Cancels the open items of a Map: because it failed under the policy abort-dependents, or because it was cancelled.
create or replace function stepwell._map_abort(p_tenant_id int, p_unit_id bigint) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_open record;
begin
    with recursive inside as (
        select u.unit_id, u.state_code
        from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.parent_id = p_unit_id and u.scope = 'step'
        union all
        select u.unit_id, u.state_code
        from inside as i
        inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.parent_id = i.unit_id and u.scope = 'step'
    )
    select array_agg(p_tenant_id) as tenant_ids, array_agg(i.unit_id order by i.unit_id) as unit_ids
    into v_open
    from inside as i
    where not stepwell._has_ended(i.state_code);
    if v_open.unit_ids is not null then
        perform stepwell._units_dequeue(v_open.tenant_ids, v_open.unit_ids);
        perform stepwell._units_move(v_open.tenant_ids, v_open.unit_ids, 'cancelled', 'mow_orchestrator',
            'condition_resolved', 'upstream_failed', 'engine', null,
            array_fill('{"reason": "upstream_failed"}'::jsonb, array[cardinality(v_open.unit_ids)]));
        perform stepwell._receipts_doubt(v_open.tenant_ids, v_open.unit_ids, 'the item was cancelled meanwhile');
        perform stepwell._subruns_cancel(p_tenant_id, v_open.unit_ids, 'engine', 'upstream_failed');
    end if;
end
$$;
