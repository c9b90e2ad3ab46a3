-- Sub-workflows: a step starts a run of its own and ends with it. Callers hold the locks of the runs around. SW004: the
-- registry refuses. Where a state or a parent is asked for, each row is looked up by its key (offset 0): in a join, a plan for
-- young tables reads all units or runs of the tenant.

-- Starts the runs of sub-workflow steps, one each, with their time-out.
create or replace function stepwell._subruns_start(
    p_tenant_ids int[], p_unit_ids bigint[], p_values jsonb[], p_problems text[]
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_same record;
    v_has_timeout boolean := false;
begin
    for v_same in
        select u.tenant_id, d.config ->> 'workflow' as workflow_name, array_agg(u.unit_id order by u.unit_id) as unit_ids,
            array_agg(q.value order by u.unit_id) as inputs, array_agg(q.problem order by u.unit_id) as problems,
            bool_or(d.timeout_seconds is not null) as has_timeout
        from unnest(p_tenant_ids, p_unit_ids, p_values, p_problems) as q (tenant_id, unit_id, value, problem)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        group by u.tenant_id, d.config ->> 'workflow'
        order by u.tenant_id, min(u.unit_id)
    loop
        perform stepwell._subruns_create(
            v_same.tenant_id, v_same.workflow_name, v_same.unit_ids, v_same.inputs, v_same.problems);
        v_has_timeout := v_has_timeout or v_same.has_timeout;
    end loop;
    if not v_has_timeout then
        return;
    end if;
    -- Not for a step that has ended already.
    insert into stepwell.timer (tenant_id, unit_id, timer_kind, due_at)
    select u.tenant_id, u.unit_id, 'wait_timeout', v_now + make_interval(secs => d.timeout_seconds)
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    inner join stepwell.workflow_step_def as d
        on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    where u.state_code = 'in_progress' and d.timeout_seconds is not null;
end
$$;

-- Starts the runs of sub-workflow steps that name the same workflow, with the values of their inputs or with the input of
-- the parent. A step that cannot start its run fails for good, with the reason. The runs start all at once; where they
-- begin with a step of the engine, one by one, because such a run may fail at once and cancel the next of these steps:
-- that one starts none. The trigger (parent unit, lease number) starts one run for each attempt.
-- Locks: the root run, without waiting, where it is not the run of the steps.
-- Raises: 55P03 when the root run is locked by another transaction (try again).
create or replace function stepwell._subruns_create(
    p_tenant_id int, p_workflow_name text, p_unit_ids bigint[], p_inputs jsonb[], p_problems text[]
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    -- Joined, not compared with a constant: else a plan for young tables reads all rows of the tenant.
    v_tenant_ids constant int[] := array_fill(p_tenant_id, array[cardinality(p_unit_ids)]);
    v_nesting constant int := stepwell._limit('limits.nesting');
    v_version stepwell.workflow_version;
    v_missing text;
    v_may_end_at_once boolean;
    v_around record;
    v_part record;
    v_made record;
begin
    begin
        v_version := stepwell._version_find(p_tenant_id, p_workflow_name, null);
    exception when sqlstate 'SW002' then
        v_missing := sqlerrm;
    end;
    p_inputs := case when v_version.is_template
        then stepwell._params_nested(p_tenant_id, v_version.input_schema -> 'properties', p_unit_ids, p_inputs) else p_inputs end;
    -- The runs around the steps are few: what is the same for all steps of a run is read once for each run.
    select max(r.depth) as depth, count(distinct coalesce(w.workspace_id, 0)) as workspace_count, max(w.workspace_id) as workspace_id
    into v_around
    from (select distinct q.tenant_id, stepwell._run_of(q.unit_id) as run_id from unnest(v_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)) as a
    inner join stepwell.run_detail as r on a.tenant_id = r.tenant_id and a.run_id = r.run_id
    inner join stepwell.run_progress as w on a.tenant_id = w.tenant_id and a.run_id = w.run_id;
    if v_missing is not null or v_version.input_schema is not null or v_version.maps_input or v_around.depth >= v_nesting
        or array_remove(p_problems, null) <> '{}' then
        perform stepwell._subruns_refuse(p_tenant_id, p_unit_ids, p_inputs, p_problems, v_version, v_missing);
    end if;
    v_may_end_at_once := exists (select from stepwell.workflow_step_def as d
        where d.tenant_id = p_tenant_id and d.version_id = v_version.version_id and d.scope_no = 0 and d.pending_count = 0
            and d.step_kind <> 'operation');
    for v_part in
        select v_tenant_ids as tenant_ids, p_unit_ids as unit_ids, p_inputs as inputs, v_around.workspace_id
        where not v_may_end_at_once and v_around.workspace_count = 1
        union all
        select s.* from (
            select array_agg(q.tenant_id), array_agg(q.unit_id order by q.unit_id), array_agg(q.input order by q.unit_id), w.workspace_id
            from unnest(v_tenant_ids, p_unit_ids, p_inputs) as q (tenant_id, unit_id, input)
            left join stepwell.run_progress as w on q.tenant_id = w.tenant_id and stepwell._run_of(q.unit_id) = w.run_id
            where v_may_end_at_once or v_around.workspace_count <> 1
            group by w.workspace_id, case when v_may_end_at_once then q.unit_id end
            order by min(q.unit_id)
        ) as s
    loop
        perform stepwell._subruns_count(v_part.tenant_ids, v_part.unit_ids);
        v_made := stepwell._subruns_insert(v_version, v_part.tenant_ids, v_part.unit_ids, v_part.inputs);
        if v_made.run_ids is not null then
            perform stepwell._run_create(p_tenant_id, v_version, v_made.run_ids, 0, 'engine', v_made.parent_ids,
                p_workspace_id => v_part.workspace_id);
        end if;
    end loop;
end
$$;

-- The params of nested graphs of one template. A job that names none passes those of its own graph that the template knows.
create or replace function stepwell._params_nested(p_tenant_id int, p_known jsonb, p_unit_ids bigint[], p_inputs jsonb[]) returns jsonb[]
language sql stable
set search_path = stepwell, pg_temp
as $$
    select array_agg(stepwell._params_filled(p_known, coalesce(q.input, (
        select coalesce(jsonb_object_agg(i.key, i.value), '{}') from jsonb_each(r.input) as i where p_known ? i.key))) order by q.place)
    from unnest(p_unit_ids, p_inputs) with ordinality as q (unit_id, input, place)
    cross join lateral (select x.input from stepwell.run_detail as x
        where x.tenant_id = p_tenant_id and x.run_id = stepwell._run_of(q.unit_id) offset 0) as r
$$;

-- Writes the runs of those of these steps that are still in progress, with their inputs or with the input of the run around. What
-- the steps of a run share is read once for each run.
create or replace function stepwell._subruns_insert(
    p_version stepwell.workflow_version, p_tenant_ids int[], p_unit_ids bigint[], p_inputs jsonb[], out run_ids bigint[], out parent_ids bigint[]
)
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
begin
    with made as (
        insert into stepwell.run_detail (
            tenant_id, run_id, version_id, workflow_id, trigger_type, trigger_ref, input, trace_id, correlation_id,
            started_by, parent_unit_id, depth, next_unit_no, created_at)
        select p_version.tenant_id, nextval('stepwell.run_seq'), p_version.version_id, p_version.workflow_id, 'subworkflow',
            u.unit_id || ':' || u.lease_no, coalesce(q.input, r.input), r.trace_id, r.correlation_id,
            'unit:' || u.unit_id, u.unit_id, r.depth + 1, p_version.step_count + 1, v_now
        from (
            select q.tenant_id, stepwell._run_of(q.unit_id) as run_id, array_agg(q.unit_id order by q.unit_id) as unit_ids,
                array_agg(q.input order by q.unit_id) as inputs
            from unnest(p_tenant_ids, p_unit_ids, p_inputs) as q (tenant_id, unit_id, input)
            group by q.tenant_id, stepwell._run_of(q.unit_id)
        ) as a
        inner join stepwell.run_detail as r on a.tenant_id = r.tenant_id and a.run_id = r.run_id
        cross join lateral unnest(a.unit_ids, a.inputs) as q (unit_id, input)
        -- One by one: in a join, a plan for young tables reads all units of the tenant.
        cross join lateral (
            select x.unit_id, x.lease_no from stepwell.work_unit as x
            where x.tenant_id = a.tenant_id and x.unit_id = q.unit_id and x.state_code = 'in_progress' offset 0
        ) as u
        order by u.unit_id
        returning run_id, parent_unit_id
    )
    select array_agg(m.run_id order by m.run_id), array_agg(m.parent_unit_id order by m.run_id) into run_ids, parent_ids
    from made as m;
end
$$;

-- Fails the steps whose run cannot start, for good, with the reason.
create or replace function stepwell._subruns_refuse(
    p_tenant_id int, p_unit_ids bigint[], p_inputs jsonb[], p_problems text[], p_version stepwell.workflow_version, p_missing text
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_nesting constant int := stepwell._limit('limits.nesting');
    v_may_refuse constant boolean := p_missing is not null or p_version.input_schema is not null or p_version.maps_input;
    v_bad record;
begin
    select array_agg(q.tenant_id) as tenant_ids, array_agg(q.unit_id order by q.unit_id) as unit_ids,
        array_agg(jsonb_build_object('failure_class', x.failure_class, 'outcome', 'dead', 'error', jsonb_build_object(
            'type', case x.failure_class when 'expression_error' then 'ExpressionError' else 'SubWorkflow' end,
            'message', x.problem)) order by q.unit_id) as failures
    into v_bad
    from unnest(array_fill(p_tenant_id, array[cardinality(p_unit_ids)]), p_unit_ids, p_inputs, p_problems)
        as q (tenant_id, unit_id, input, problem)
    inner join stepwell.run_detail as r on q.tenant_id = r.tenant_id and stepwell._run_of(q.unit_id) = r.run_id
        and (v_may_refuse or r.depth >= v_nesting or q.problem is not null)
    cross join lateral stepwell._subrun_problem(p_version, r.depth + 1, v_nesting, coalesce(q.input, r.input),
        coalesce(p_missing, q.problem), p_missing is null) as x
    where x.problem is not null;
    if v_bad.unit_ids is not null then
        perform stepwell._units_fail(v_bad.tenant_ids, v_bad.unit_ids, v_bad.failures, 'mow_orchestrator');
    end if;
end
$$;

-- Counts the runs that these steps will start in the root of their run. Steps that are too many for the root fail for good.
-- Locks: the root runs; the caller holds them, or they are taken without waiting.
-- Raises: 55P03 when another transaction holds one (try again).
create or replace function stepwell._subruns_count(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_limit constant int := stepwell._limit('limits.subruns_per_run');
    v_parent record;
    v_root_id bigint;
    v_room int;
begin
    for v_parent in
        select r.tenant_id, r.run_id, r.parent_unit_id, a.unit_ids
        from (
            select u.tenant_id, stepwell._run_of(u.unit_id) as run_id, array_agg(u.unit_id order by u.unit_id) as unit_ids
            from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
            cross join lateral (
                select w.tenant_id, w.unit_id, w.state_code from stepwell.work_unit as w
                where w.tenant_id = q.tenant_id and w.unit_id = q.unit_id offset 0
            ) as u
            where u.state_code = 'in_progress'
            group by u.tenant_id, stepwell._run_of(u.unit_id)
        ) as a
        inner join stepwell.run_detail as r on a.tenant_id = r.tenant_id and a.run_id = r.run_id
        order by r.tenant_id, r.run_id
    loop
        v_root_id := v_parent.run_id;
        if v_parent.parent_unit_id is not null then
            v_root_id := (select a.run_id from stepwell._runs_above(v_parent.tenant_id, v_parent.run_id) as a limit 1);
            perform stepwell._runs_lock_now(v_parent.tenant_id, array[v_root_id]);
        end if;
        select least(greatest(v_limit - p.subrun_count, 0), cardinality(v_parent.unit_ids)) into v_room
        from stepwell.run_progress as p
        where p.tenant_id = v_parent.tenant_id and p.run_id = v_root_id;
        update stepwell.run_progress as p set subrun_count = p.subrun_count + v_room
        where p.tenant_id = v_parent.tenant_id and p.run_id = v_root_id and v_room > 0;
        perform stepwell._units_fail(array_agg(v_parent.tenant_id), array_agg(x.unit_id order by x.unit_id),
            array_agg(jsonb_build_object('failure_class', 'too_many_subruns', 'outcome', 'dead', 'error', jsonb_build_object(
                'type', 'SubWorkflow', 'message', format('workflow: the run at the top has started %s sub-workflow runs;'
                    ' at most %s are accepted', v_limit, v_limit)))), 'mow_orchestrator')
        from unnest(v_parent.unit_ids[v_room + 1 :]) as x (unit_id)
        having count(*) > 0;
    end loop;
end
$$;

-- Why a sub-run cannot start, and the class of that failure: the nesting is too deep, the workflow does not exist or the
-- inputs have a problem (p_problem), or the workflow does not accept the input. Null when it can.
create or replace function stepwell._subrun_problem(
    p_version stepwell.workflow_version, p_depth int, p_limit int, p_input jsonb, p_problem text, p_exists boolean,
    out failure_class text, out problem text
)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if p_depth > p_limit then
        failure_class := 'not_found';
        problem := format('workflow: sub-workflows are nested more than %s levels deep', p_limit);
    elsif p_problem is not null then
        failure_class := case when p_exists then 'expression_error' else 'not_found' end;
        problem := p_problem;
    else
        failure_class := 'invalid_input';
        problem := stepwell._schema_problem(p_version.input_schema, p_input, 'input');
        if problem is null and p_version.maps_input then
            problem := 'input: ' || stepwell._maps_input_problem(p_version, p_input);
        end if;
        if problem is null and p_version.is_template then
            problem := stepwell._signal_problem('params', p_input);
        end if;
    end if;
end
$$;

-- Runs that ended inside sub-workflow steps give their results, or their failures, to these steps, all at once.
-- Locks: the parent runs, out of order (a parent is older than its child), so without waiting: when another transaction
--   holds one, the whole transaction ends with 55P03 and its client tries again.
-- Raises: 55P03 when a parent run is locked by another transaction (try again).
create or replace function stepwell._subruns_end(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_limit constant int := stepwell._limit('limits.composed_result_bytes');
    v_child record;
    v_results jsonb[];
    v_ended record;
begin
    select array_agg(r.tenant_id) as tenant_ids, array_agg(r.run_id) as run_ids, array_agg(r.parent_unit_id) as parent_ids,
        array_agg(r.finished_state) as states
    into v_child
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    cross join lateral (
        select d.tenant_id, d.run_id, d.parent_unit_id, d.finished_state from stepwell.run_detail as d
        where d.tenant_id = q.tenant_id and d.run_id = stepwell._run_of(q.unit_id) offset 0
    ) as r
    where r.parent_unit_id is not null;
    perform 1
    from (
        select distinct c.tenant_id, stepwell._run_of(c.parent_id) as run_id
        from unnest(v_child.tenant_ids, v_child.parent_ids) as c (tenant_id, parent_id)
    ) as a
    inner join stepwell.run_progress as p on a.tenant_id = p.tenant_id and a.run_id = p.run_id
    for update of p nowait;
    v_results := stepwell._run_results(v_child.tenant_ids, v_child.run_ids);
    select
        array_agg(c.tenant_id order by c.unit_id) as tenant_ids, array_agg(c.unit_id order by c.unit_id) as unit_ids,
        bool_or(c.state_code in ('failed', 'blocked')) as has_halted,
        array_agg(c.tenant_id order by c.unit_id) filter (where c.bytes <= v_limit) as done_tenant_ids,
        array_agg(c.unit_id order by c.unit_id) filter (where c.bytes <= v_limit) as done_ids,
        array_agg(c.result order by c.unit_id) filter (where c.bytes <= v_limit) as results,
        array_agg(c.tenant_id order by c.unit_id) filter (where c.bytes > v_limit) as large_tenant_ids,
        array_agg(c.unit_id order by c.unit_id) filter (where c.bytes > v_limit) as large_ids,
        array_agg(c.bytes order by c.unit_id) filter (where c.bytes > v_limit) as large_bytes,
        array_agg(c.tenant_id order by c.unit_id) filter (where c.bytes is null) as failed_tenant_ids,
        array_agg(c.unit_id order by c.unit_id) filter (where c.bytes is null) as failed_ids,
        array_agg(jsonb_build_object('failure_class', 'upstream_failed', 'outcome', 'dead', 'error', jsonb_build_object(
            'type', 'SubWorkflow', 'message', format('run %s of the sub-workflow is %s', c.run_id, c.finished_state),
            'run_id', c.run_id)) order by c.unit_id) filter (where c.bytes is null) as failures
    into v_ended
    from (
        select q.tenant_id, q.run_id, u.unit_id, u.state_code, q.finished_state, q.result,
            case when q.finished_state = 'completed' then coalesce(stepwell._value_size(q.result), 0) end as bytes
        from unnest(v_child.tenant_ids, v_child.run_ids, v_child.parent_ids, v_child.states, v_results)
            as q (tenant_id, run_id, parent_id, finished_state, result)
        cross join lateral (
            select w.unit_id, w.state_code from stepwell.work_unit as w
            where w.tenant_id = q.tenant_id and w.unit_id = q.parent_id offset 0
        ) as u
        where u.state_code in ('in_progress', 'overdue', 'failed', 'blocked')
    ) as c;
    if v_ended.unit_ids is null then
        return;
    end if;
    if v_ended.has_halted then
        perform stepwell._subrun_steps_continue(v_ended.tenant_ids, v_ended.unit_ids);
    end if;
    delete from stepwell.timer as t
    using unnest(v_ended.tenant_ids, v_ended.unit_ids) as q (tenant_id, unit_id)
    where t.tenant_id = q.tenant_id and t.unit_id = q.unit_id and t.timer_kind = 'wait_timeout';
    if v_ended.done_ids is not null then
        perform stepwell._engine_complete(v_ended.done_tenant_ids, v_ended.done_ids, v_ended.results);
    end if;
    if v_ended.large_ids is not null then
        perform stepwell._engine_result_refuse(q.tenant_id, q.unit_id, q.bytes)
        from unnest(v_ended.large_tenant_ids, v_ended.large_ids, v_ended.large_bytes) as q (tenant_id, unit_id, bytes);
    end if;
    if v_ended.failed_ids is not null then
        perform stepwell._units_fail(v_ended.failed_tenant_ids, v_ended.failed_ids, v_ended.failures, 'mow_orchestrator');
    end if;
    perform stepwell._runs_settle(v_ended.tenant_ids, v_ended.unit_ids);
end
$$;
