-- Sub-workflows: a step starts a run of its own and ends with it. Callers hold the locks of the runs around. SW004: the
-- registry refuses.

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
begin
    for v_same in
        select u.tenant_id, d.config ->> 'workflow' as workflow_name, array_agg(u.unit_id order by u.unit_id) as unit_ids,
            array_agg(q.value order by u.unit_id) as inputs, array_agg(q.problem order by u.unit_id) as problems
        from unnest(p_tenant_ids, p_unit_ids, p_values, p_problems) as q (tenant_id, unit_id, value, problem)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        group by u.tenant_id, d.config ->> 'workflow'
        order by u.tenant_id, min(u.unit_id)
    loop
        perform stepwell._subruns_create(
            v_same.tenant_id, v_same.workflow_name, v_same.unit_ids, v_same.inputs, v_same.problems);
    end loop;
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
    v_now constant timestamptz := stepwell.now();
    v_version stepwell.workflow_version;
    v_missing text;
    v_may_refuse boolean;
    v_may_end_at_once boolean;
    v_bad record;
    v_part record;
    v_made record;
begin
    begin
        v_version := stepwell._version_find(p_tenant_id, p_workflow_name, null);
    exception when sqlstate 'SW002' then
        v_missing := sqlerrm;
    end;
    v_may_refuse := v_missing is not null or v_version.input_schema is not null or v_version.maps_input;
    select array_agg(q.tenant_id) as tenant_ids, array_agg(q.unit_id order by q.unit_id) as unit_ids,
        array_agg(jsonb_build_object('failure_class', x.failure_class, 'outcome', 'dead', 'error', jsonb_build_object(
            'type', case x.failure_class when 'expression_error' then 'ExpressionError' else 'SubWorkflow' end,
            'message', x.problem)) order by q.unit_id) as failures
    into v_bad
    from unnest(v_tenant_ids, p_unit_ids, p_inputs, p_problems) as q (tenant_id, unit_id, input, problem)
    inner join stepwell.run_detail as r on q.tenant_id = r.tenant_id and stepwell._run_of(q.unit_id) = r.run_id
        and (v_may_refuse or r.depth >= v_nesting or q.problem is not null)
    cross join lateral stepwell._subrun_problem(v_version, r.depth + 1, v_nesting, coalesce(q.input, r.input),
        coalesce(v_missing, q.problem), v_missing is null) as x
    where x.problem is not null;
    if v_bad.unit_ids is not null then
        perform stepwell._units_fail(v_bad.tenant_ids, v_bad.unit_ids, v_bad.failures, 'mow_orchestrator');
    end if;
    v_may_end_at_once := exists (select from stepwell.workflow_step_def as d
        where d.tenant_id = p_tenant_id and d.version_id = v_version.version_id and d.scope_no = 0 and d.pending_count = 0
            and d.step_kind <> 'operation');
    for v_part in
        select array_agg(q.tenant_id) as tenant_ids, array_agg(q.unit_id order by q.unit_id) as unit_ids,
            array_agg(q.input order by q.unit_id) as inputs, w.workspace_id
        from unnest(v_tenant_ids, p_unit_ids, p_inputs) as q (tenant_id, unit_id, input)
        left join stepwell.run_progress as w on q.tenant_id = w.tenant_id and stepwell._run_of(q.unit_id) = w.run_id
        group by w.workspace_id, case when v_may_end_at_once then q.unit_id end
        order by min(q.unit_id)
    loop
        perform stepwell._subruns_count(v_part.tenant_ids, v_part.unit_ids);
        with made as (
            insert into stepwell.run_detail (
                tenant_id, run_id, version_id, workflow_id, trigger_type, trigger_ref, input, trace_id, correlation_id,
                started_by, parent_unit_id, depth, next_unit_no, created_at)
            select p_tenant_id, nextval('stepwell.run_seq'), v_version.version_id, v_version.workflow_id, 'subworkflow',
                u.unit_id || ':' || u.lease_no, coalesce(q.input, r.input), r.trace_id, r.correlation_id,
                'unit:' || u.unit_id, u.unit_id, r.depth + 1, v_version.step_count + 1, v_now
            from unnest(v_part.tenant_ids, v_part.unit_ids, v_part.inputs) as q (tenant_id, unit_id, input)
            inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
            inner join stepwell.run_detail as r on q.tenant_id = r.tenant_id and stepwell._run_of(q.unit_id) = r.run_id
            where u.state_code = 'in_progress'
            order by u.unit_id
            returning run_id, parent_unit_id
        )
        select array_agg(m.run_id order by m.run_id) as run_ids, array_agg(m.parent_unit_id order by m.run_id) as parent_ids
        into v_made
        from made as m;
        if v_made.run_ids is not null then
            perform stepwell._run_create(p_tenant_id, v_version, v_made.run_ids, 0, 'engine', v_made.parent_ids,
                p_workspace_id => v_part.workspace_id);
        end if;
    end loop;
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
        select r.tenant_id, r.run_id, r.parent_unit_id, array_agg(u.unit_id order by u.unit_id) as unit_ids
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        inner join stepwell.run_detail as r on q.tenant_id = r.tenant_id and stepwell._run_of(q.unit_id) = r.run_id
        where u.state_code = 'in_progress'
        group by r.tenant_id, r.run_id, r.parent_unit_id
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
    v_results jsonb[];
    v_ended record;
begin
    perform 1
    from (
        select distinct r.tenant_id, stepwell._run_of(r.parent_unit_id) as run_id
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.run_detail as r on q.tenant_id = r.tenant_id and stepwell._run_of(q.unit_id) = r.run_id
        where r.parent_unit_id is not null
    ) as a
    inner join stepwell.run_progress as p on a.tenant_id = p.tenant_id and a.run_id = p.run_id
    for update of p nowait;
    v_results := stepwell._run_results(p_tenant_ids, array(select stepwell._run_of(q) from unnest(p_unit_ids) as q));
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
        select r.tenant_id, r.run_id, u.unit_id, u.state_code, r.finished_state, q.result,
            case when r.finished_state = 'completed' then coalesce(stepwell._value_size(q.result), 0) end as bytes
        from unnest(p_tenant_ids, p_unit_ids, v_results) as q (tenant_id, unit_id, result)
        inner join stepwell.run_detail as r on q.tenant_id = r.tenant_id and stepwell._run_of(q.unit_id) = r.run_id
        inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.parent_unit_id = u.unit_id
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

-- The open runs below a run, or below some of its steps, to any depth, in id order.
create or replace function stepwell._subruns_open(p_tenant_id int, p_run_id bigint, p_unit_ids bigint[]) returns bigint[]
language sql stable
set search_path = stepwell, pg_temp
as $$
    with recursive down as (
        select stepwell._run_of(u.unit_id) as run_id
        from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.parent_id = any (p_unit_ids)
            and u.scope = 'workflow_run' and not stepwell._run_has_ended(u.state_code)
        union all
        select stepwell._run_of(u.unit_id)
        from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id
            and u.parent_id between stepwell._run_unit(p_run_id) + 1 and stepwell._run_last(p_run_id)
            and u.scope = 'workflow_run' and not stepwell._run_has_ended(u.state_code)
        union all
        select stepwell._run_of(u.unit_id)
        from down as d
        inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.parent_id
            between stepwell._run_unit(d.run_id) + 1 and stepwell._run_last(d.run_id)
        where u.scope = 'workflow_run' and not stepwell._run_has_ended(u.state_code)
    )
    select array_agg(d.run_id order by d.run_id) from down as d
$$;

-- Locks the open runs below a run, for calls that may cancel them. The caller holds the run itself. A run that begins
-- meanwhile is found in the next round, and has a lower number than one that is held: it is taken at once or not at all.
-- Locks: run_progress rows in run order; again without waiting.
-- Raises: 55P03 when such a new run is held by another transaction (try again).
create or replace function stepwell._runs_lock_down(p_tenant_id int, p_run_id bigint) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_locked bigint[] := '{}'::bigint[];
    v_open bigint[];
begin
    loop
        v_open := coalesce(stepwell._subruns_open(p_tenant_id, p_run_id, null), '{}');
        exit when v_open <@ v_locked;
        if v_locked = '{}' then
            perform stepwell._runs_lock(array_fill(p_tenant_id, array[cardinality(v_open)]),
                array(select stepwell._run_unit(r) from unnest(v_open) as r));
        else
            perform stepwell._runs_lock_now(p_tenant_id, v_open);
        end if;
        v_locked := v_locked || v_open;
    end loop;
end
$$;

-- Locks runs that come before others that the transaction may hold, so without waiting.
-- Locks: run_progress rows.
-- Raises: 55P03 when another transaction holds one (try again).
create or replace function stepwell._runs_lock_now(p_tenant_id int, p_run_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform 1 from stepwell.run_progress as p
    where p.tenant_id = p_tenant_id and p.run_id = any (p_run_ids)
    for update nowait;
end
$$;

-- Cancels the open runs of these sub-workflow steps, to any depth.
-- Locks: these runs, without waiting: a report or a timer may hold later ones. A call that cancels on purpose has locked
--   them before (_runs_lock_down).
-- Raises: 55P03 when another transaction holds one (try again).
create or replace function stepwell._subruns_cancel(p_tenant_id int, p_unit_ids bigint[], p_actor text, p_reason text)
returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_run_ids bigint[];
begin
    v_run_ids := stepwell._subruns_open(p_tenant_id, null, p_unit_ids);
    if v_run_ids is not null then
        perform stepwell._runs_lock_now(p_tenant_id, v_run_ids);
        -- Again: one of them may have ended, or begun another, before it was locked.
        v_run_ids := stepwell._subruns_open(p_tenant_id, null, p_unit_ids);
        perform stepwell._runs_lock_now(p_tenant_id, v_run_ids);
        perform stepwell._runs_clear(p_tenant_id, v_run_ids, null, p_actor, p_reason);
    end if;
end
$$;

-- Cancels sub-runs, and every open unit of them and of the cancelled run above them, all at once: so ready rows, units
-- and slots are each locked in one round.
create or replace function stepwell._runs_clear(
    p_tenant_id int, p_subrun_ids bigint[], p_run_id bigint, p_actor text, p_reason text
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_run_ids constant bigint[] := array_remove(p_run_id || coalesce(p_subrun_ids, '{}'), null);
    v_tenant_ids constant int[] := array_fill(p_tenant_id, array[cardinality(v_run_ids)]);
    v_open record;
begin
    if cardinality(p_subrun_ids) > 0 then
        perform stepwell._units_move(array_fill(p_tenant_id, array[cardinality(p_subrun_ids)]),
            array(select stepwell._run_unit(r) from unnest(p_subrun_ids) as r), 'cancelled', 'system', 'rpc', 'workflow_cancel', p_actor);
    end if;
    select array_agg(u.tenant_id order by u.unit_id) as tenant_ids, array_agg(u.unit_id order by u.unit_id) as unit_ids
    into v_open
    from unnest(v_run_ids) as r (run_id)
    inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id
        and u.unit_id between stepwell._run_unit(r.run_id) + 1 and stepwell._run_last(r.run_id)
    where not stepwell._has_ended(u.state_code);
    if v_open.unit_ids is not null then
        perform stepwell._units_dequeue(v_open.tenant_ids, v_open.unit_ids);
        perform stepwell._units_move(v_open.tenant_ids, v_open.unit_ids, 'cancelled', 'system', 'rpc', 'workflow_cancel',
            p_actor, null, array_fill(jsonb_build_object('reason', coalesce(p_reason, 'run cancelled')),
                array[cardinality(v_open.unit_ids)]));
        perform stepwell._receipts_doubt(v_open.tenant_ids, v_open.unit_ids, 'the run was cancelled meanwhile');
    end if;
    perform stepwell._runs_finish(v_tenant_ids, v_run_ids, 'cancelled');
    -- Corrections and approvals of the runs end with them.
    perform stepwell._attention_settle(p.tenant_id, p.run_id)
    from stepwell.run_progress as p
    where p.tenant_id = p_tenant_id and p.run_id = any (v_run_ids) and p.needs_attention;
end
$$;
