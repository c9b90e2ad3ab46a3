-- Human steps are opened for people, with their tasks. Callers hold the locks of the runs. SW004: the registry refuses.

-- Human steps that became ready: their inputs are bound and stored, the named person is put in charge, deadline and
-- escalation chain begin, tasks are created. A step that was opened before keeps all of these but gets its inputs again, and
-- tasks of it that wait again begin.
-- A step whose inputs cannot be bound fails for good.
-- Raises: SW006 when a step has too many tasks.
create or replace function stepwell._humans_open(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_human record;
    v_task record;
begin
    for v_human in
        select u.tenant_id, array_agg(u.unit_id order by u.unit_id) as unit_ids, bool_or(d.config ? 'tasks') as has_tasks
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        where u.state_code = 'ready' and d.step_kind = 'human'
        group by u.tenant_id
        order by u.tenant_id
    loop
        v_human.unit_ids := stepwell._humans_show(v_human.tenant_id, v_human.unit_ids);
        update stepwell.work_unit as u set
            pic_id = coalesce(u.pic_id, (select p.person_id from stepwell.person as p
                where p.tenant_id = u.tenant_id and p.name_key = stepwell._name_fold(d.config ->> 'assignee') and p.is_active)),
            deadline_at = coalesce(u.deadline_at, case when d.config ->> 'deadline_from' is distinct from 'start'
                then stepwell._deadline_of(u.tenant_id, d.config, u.last_transition_at) end)
        from stepwell.workflow_step_def as d
        where u.tenant_id = v_human.tenant_id and u.unit_id = any (v_human.unit_ids)
            and d.tenant_id = u.tenant_id and d.version_id = u.version_id and d.step_no = u.def_no;
        insert into stepwell.step_escalation (tenant_id, unit_id, level, tell, due_at)
        select u.tenant_id, u.unit_id, e.level, e.entry ->> 'tell',
            u.last_transition_at + make_interval(secs => (e.entry ->> 'after')::float8)
        from stepwell.work_unit as u
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        cross join lateral jsonb_array_elements(d.config -> 'escalation') with ordinality as e (entry, level)
        where u.tenant_id = v_human.tenant_id and u.unit_id = any (v_human.unit_ids)
            and jsonb_typeof(d.config -> 'escalation') = 'array'
        on conflict do nothing;
        perform stepwell._people_timers(v_human.tenant_id, v_human.unit_ids);
        if v_human.has_tasks then
            for v_task in
                select u.unit_id, d.config -> 'tasks' as tasks
                from stepwell.work_unit as u
                inner join stepwell.workflow_step_def as d
                    on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
                where u.tenant_id = v_human.tenant_id and u.unit_id = any (v_human.unit_ids) and d.config ? 'tasks'
                    and not exists (select from stepwell.task_detail as t
                        where t.tenant_id = u.tenant_id and t.step_run_id = u.unit_id)
                order by u.unit_id
            loop
                perform stepwell._tasks_open(v_human.tenant_id, v_task.unit_id, v_task.tasks);
            end loop;
            perform stepwell._tasks_begin(v_human.tenant_id, v_human.unit_ids);
        end if;
    end loop;
end
$$;

-- Binds the inputs of ready human steps and stores them. Returns the steps that can be opened; the others have failed
-- for good, with the reason.
create or replace function stepwell._humans_show(p_tenant_id int, p_unit_ids bigint[]) returns bigint[]
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_unit_id bigint;
    v_problem text;
begin
    for v_unit_id in
        select u.unit_id
        from stepwell.work_unit as u
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        where u.tenant_id = p_tenant_id and u.unit_id = any (p_unit_ids) and (d.inputs is not null or u.item_no is not null)
        order by u.unit_id
    loop
        -- The failure of an earlier one may have cancelled this one.
        continue when not exists (select from stepwell.work_unit as u
            where u.tenant_id = p_tenant_id and u.unit_id = v_unit_id and u.state_code = 'ready');
        v_problem := stepwell._inputs_store(p_tenant_id, v_unit_id);
        if v_problem is not null then
            perform stepwell._units_move(array[p_tenant_id], array[v_unit_id], 'in_progress', 'mow_orchestrator',
                'condition_resolved', null, 'engine');
            perform stepwell._units_fail(array[p_tenant_id], array[v_unit_id], array[jsonb_build_object(
                'failure_class', 'expression_error', 'outcome', 'dead', 'error',
                jsonb_build_object('type', 'ExpressionError', 'message', v_problem))], 'mow_orchestrator');
        end if;
    end loop;
    return array(select u.unit_id from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id = any (p_unit_ids) and u.state_code = 'ready' order by u.unit_id);
end
$$;

-- Stores what a person is shown: the inputs of a human step as they are now, when they are not what was stored last.
-- Returns the problem because of which they cannot be bound; then what was stored stays.
create or replace function stepwell._inputs_store(p_tenant_id int, p_unit_id bigint) returns text
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_shown record;
begin
    select s.inputs, s.problem, l.binding_no, l.inputs as before into v_shown
    from stepwell.work_unit as u
    inner join stepwell.workflow_step_def as d
        on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    cross join lateral stepwell._inputs_show(u, d.inputs, d.config -> 'reads') as s
    left join lateral (
        select i.binding_no, i.inputs from stepwell.step_input as i
        where i.tenant_id = u.tenant_id and i.unit_id = u.unit_id
        order by i.binding_no desc limit 1
    ) as l on true
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id and d.step_kind = 'human';
    if v_shown.inputs is distinct from v_shown.before and v_shown.inputs is not null then
        insert into stepwell.step_input (tenant_id, unit_id, binding_no, inputs, bound_at)
        values (p_tenant_id, p_unit_id, coalesce(v_shown.binding_no, 0) + 1, v_shown.inputs, stepwell.now());
    end if;
    return v_shown.problem;
end
$$;

-- The inputs of a human step as _inputs_bind and, inside a Map, _item_read give them to operations; null when it has
-- none. What cannot be evaluated, or is too large, is a problem that names the parameter.
create or replace function stepwell._inputs_show(
    p_unit stepwell.work_unit, p_inputs jsonb, p_reads jsonb, out inputs jsonb, out problem text
)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_limit constant int := stepwell._limit('limits.payload_bytes');
begin
    inputs := stepwell._inputs_bind(p_unit.tenant_id, p_unit.unit_id, p_inputs, p_reads);
    if p_unit.item_no is not null then
        inputs := stepwell._inputs_join(stepwell._item_read(p_unit.tenant_id, p_unit.parent_id, p_unit.item_no), inputs);
    end if;
    problem := case when jsonb_typeof(inputs) in ('string', 'array') then coalesce(inputs ->> 0, inputs #>> '{}')
        when octet_length(inputs::text) > v_limit then stepwell._too_large('inputs', octet_length(inputs::text), v_limit) end;
    if problem is not null then
        inputs := null;
    end if;
end
$$;

-- Creates the tasks of a human step and makes them ready: each is a unit of the same state machine, with its own person
-- in charge. A task that names an operation is queued for workers; a task whose condition is false is skipped.
-- Locks: run_detail, for the next free unit number.
-- Raises: SW006 when there are too many.
create or replace function stepwell._tasks_open(p_tenant_id int, p_step_run_id bigint, p_tasks jsonb) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_count constant int := jsonb_array_length(p_tasks);
    v_machine constant text := stepwell._machine_of('task');
    v_step stepwell.work_unit;
    v_base int;
    v_made record;
begin
    if v_count > stepwell._limit('limits.tasks_per_step') then
        raise exception using errcode = 'SW006',
            message = format('tasks: %s has %s; at most %s are accepted',
                stepwell._title_of(p_tenant_id, p_step_run_id), v_count, stepwell._limit('limits.tasks_per_step'));
    end if;
    update stepwell.run_detail as r set next_unit_no = r.next_unit_no + v_count
    where r.tenant_id = p_tenant_id and r.run_id = stepwell._run_of(p_step_run_id)
    returning r.next_unit_no - v_count into v_base;
    update stepwell.work_unit as u set has_contract = true
    where u.tenant_id = p_tenant_id and u.unit_id = p_step_run_id
    returning u.* into v_step;
    insert into stepwell.task_detail (tenant_id, unit_id, step_run_id, task_no, task_id, title, role, assignee, form)
    select p_tenant_id, stepwell._run_unit(stepwell._run_of(p_step_run_id)) | (v_base + t.no - 1), p_step_run_id, t.no, t.task ->> 'id',
        t.task ->> 'title', t.task ->> 'role', t.task ->> 'assignee', t.task -> 'form'
    from jsonb_array_elements(p_tasks) with ordinality as t (task, no);
    insert into stepwell.work_unit (
        tenant_id, unit_id, version_id, parent_id, operation_id, executor_class_id, priority, max_attempts, mandatory, has_contract,
        pic_id, last_transition_at, scope, state_machine_id, state_code)
    select p_tenant_id, stepwell._run_unit(stepwell._run_of(p_step_run_id)) | (v_base + t.no - 1), v_step.version_id, p_step_run_id, o.operation_id,
        o.executor_class_id, v_step.priority, coalesce(o.max_attempts, 1), false, t.task ? 'form',
        (select p.person_id from stepwell.person as p
            where p.tenant_id = p_tenant_id and p.name_key = stepwell._name_fold(t.task ->> 'assignee') and p.is_active),
        stepwell.now(), 'task', v_machine, 'not_started'
    from jsonb_array_elements(p_tasks) with ordinality as t (task, no)
    left join stepwell.operation as o on o.tenant_id = p_tenant_id and o.operation_name = t.task ->> 'operation'
    order by t.no;
    select
        array_agg(p_tenant_id) filter (where m.begins) as tenant_ids,
        array_agg(m.unit_id order by m.unit_id) filter (where m.begins) as unit_ids,
        array_agg(p_tenant_id) filter (where not m.begins) as skipped_tenant_ids,
        array_agg(m.unit_id order by m.unit_id) filter (where not m.begins) as skipped_ids,
        array_agg(m.unit_id order by m.unit_id) filter (where m.problem is not null) as bad_ids,
        array_agg(m.problem order by m.unit_id) filter (where m.problem is not null) as problems
    into v_made
    from (
        select stepwell._run_unit(stepwell._run_of(p_step_run_id)) | (v_base + t.no - 1) as unit_id, e.problem,
            e.problem is not null or coalesce(e.result::boolean, false) as begins
        from (select stepwell._unit_document(p_tenant_id, p_step_run_id)) as d (document)
        cross join jsonb_array_elements(p_tasks) with ordinality as t (task, no)
        cross join lateral stepwell._path_evaluate(d.document, coalesce(t.task ->> 'when', 'true'), true, true) as e
    ) as m;
    perform stepwell._units_move(v_made.skipped_tenant_ids, v_made.skipped_ids, 'skipped', 'mow_orchestrator',
        'condition_resolved', 'branch_not_taken', 'engine');
    perform stepwell._units_move(v_made.tenant_ids, v_made.unit_ids, 'ready', 'mow_orchestrator', 'condition_resolved', null,
        'engine');
    if v_made.bad_ids is not null then
        perform stepwell._tasks_fail(p_tenant_id, v_made.bad_ids, v_made.problems);
    end if;
end
$$;

-- Ready tasks whose condition cannot be evaluated fail for good, with the reason.
create or replace function stepwell._tasks_fail(p_tenant_id int, p_unit_ids bigint[], p_problems text[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_tenant_ids constant int[] := array_fill(p_tenant_id, array[cardinality(p_unit_ids)]);
begin
    perform stepwell._units_dequeue(v_tenant_ids, p_unit_ids);
    perform stepwell._units_move(v_tenant_ids, p_unit_ids, 'in_progress', 'mow_orchestrator', 'condition_resolved', null, 'engine');
    perform stepwell._units_fail(v_tenant_ids, p_unit_ids, array(
        select jsonb_build_object('failure_class', 'expression_error', 'outcome', 'dead', 'error',
            jsonb_build_object('type', 'ExpressionError', 'message', 'when: ' || x.problem))
        from unnest(p_problems) with ordinality as x (problem, place) order by x.place), 'mow_orchestrator');
end
$$;

-- Cancels the open tasks of steps that have ended.
create or replace function stepwell._tasks_cancel(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_open record;
begin
    select array_agg(t.tenant_id order by t.unit_id) as tenant_ids, array_agg(t.unit_id order by t.unit_id) as unit_ids
    into v_open
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as t on q.tenant_id = t.tenant_id and q.unit_id = t.parent_id
    where t.scope = 'task' and not stepwell._has_ended(t.state_code);
    if v_open.unit_ids is not null then
        perform stepwell._units_dequeue(v_open.tenant_ids, v_open.unit_ids);
        perform stepwell._units_move(v_open.tenant_ids, v_open.unit_ids, 'cancelled', 'system', 'rpc', 'workflow_cancel',
            'engine', null, array_fill('{"reason": "parent_cancelled"}'::jsonb, array[cardinality(v_open.unit_ids)]));
    end if;
end
$$;

-- Tasks that were cancelled with their step wait again, because these steps are opened again by a correction or a replay. What
-- completed or was skipped stays.
create or replace function stepwell._tasks_reinstate(p_tenant_id int, p_step_ids bigint[], p_actor text, p_evidence jsonb) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_unit_ids constant bigint[] := array(select t.unit_id from stepwell.work_unit as t
        where t.tenant_id = p_tenant_id and t.parent_id = any (p_step_ids) and t.scope = 'task' and t.state_code = 'cancelled'
        order by t.unit_id);
    v_evidence constant jsonb[] := array_fill(p_evidence, array[cardinality(v_unit_ids)]);
begin
    perform stepwell._units_move(array_fill(p_tenant_id, array[cardinality(v_unit_ids)]), v_unit_ids, 'not_started', 'reviewer',
        'event', case when p_evidence ? 'replay_request_id' then 'replay_approved' else 'reopen_approved' end, p_actor,
        v_evidence, v_evidence);
    perform stepwell._pending_recount(p_tenant_id, v_unit_ids);
    perform stepwell._wakes_forget(p_tenant_id, v_unit_ids);
end
$$;

-- Tasks of these steps that have not begun are ready: their conditions held when they were created.
create or replace function stepwell._tasks_begin(p_tenant_id int, p_step_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_unit_ids constant bigint[] := array(select t.unit_id from stepwell.work_unit as t
        where t.tenant_id = p_tenant_id and t.parent_id = any (p_step_ids) and t.scope = 'task' and t.state_code = 'not_started'
        order by t.unit_id);
begin
    perform stepwell._units_move(array_fill(p_tenant_id, array[cardinality(v_unit_ids)]), v_unit_ids, 'ready', 'mow_orchestrator',
        'condition_resolved', null, 'engine');
    perform stepwell._people_timers(p_tenant_id, v_unit_ids);
end
$$;
