-- Sub-workflows: a step starts a run of its own and ends with it. Callers hold the locks of the runs around. SW004: the
-- registry refuses.

-- Starts the runs of sub-workflow steps, one each, with their time-out. A run that fails at once may cancel the next of
-- these steps: that one starts none.
create or replace function stepwell._subruns_start(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_step record;
begin
    for v_step in
        select u.tenant_id, u.unit_id, d.config ->> 'workflow' as workflow_name, d.inputs, d.timeout_seconds
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        order by u.unit_id
    loop
        continue when not exists (select from stepwell.work_unit as u
            where u.tenant_id = v_step.tenant_id and u.unit_id = v_step.unit_id and u.state_code = 'in_progress');
        perform stepwell._subrun_start(v_step.tenant_id, v_step.unit_id, v_step.workflow_name, v_step.inputs);
        -- Not for a step that has ended already.
        insert into stepwell.timer (tenant_id, unit_id, timer_kind, due_at)
        select u.tenant_id, u.unit_id, 'wait_timeout', stepwell.now() + make_interval(secs => v_step.timeout_seconds)
        from stepwell.work_unit as u
        where u.tenant_id = v_step.tenant_id and u.unit_id = v_step.unit_id and u.state_code = 'in_progress'
            and v_step.timeout_seconds is not null;
    end loop;
end
$$;

-- Starts the run of one sub-workflow step; its input comes from the document of the parent. When the workflow does not
-- exist or does not accept the input, or the nesting is too deep, the step fails for good with the reason. The trigger
-- (parent unit, lease number) starts one run for each attempt.
create or replace function stepwell._subrun_start(
    p_tenant_id int, p_unit_id bigint, p_workflow_name text, p_inputs jsonb
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_parent stepwell.run_detail;
    v_version stepwell.workflow_version;
    v_lease_no int;
    v_run_id bigint;
    v_input jsonb;
    v_problem text;
    v_failure_class text := 'not_found';
begin
    select r.* into v_parent from stepwell.run_detail as r where r.tenant_id = p_tenant_id and r.run_id = stepwell._run_of(p_unit_id);
    select u.lease_no into v_lease_no from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    if v_parent.depth + 1 > stepwell._limit('limits.nesting') then
        v_problem := format('workflow: sub-workflows are nested more than %s levels deep', stepwell._limit('limits.nesting'));
    else
        begin
            v_version := stepwell._version_find(p_tenant_id, p_workflow_name, null);
        exception when sqlstate 'SW002' then
            v_problem := sqlerrm;
        end;
    end if;
    if v_problem is null then
        v_input := case when p_inputs is not null then stepwell._inputs_bind(p_tenant_id, p_unit_id, p_inputs, null) end;
        if jsonb_typeof(v_input) = 'string' then
            v_problem := v_input #>> '{}';
            v_failure_class := 'expression_error';
        else
            v_input := coalesce(v_input, v_parent.input);
            v_problem := stepwell._schema_problem(v_version.input_schema, v_input, 'input');
            v_failure_class := 'invalid_input';
            if v_problem is null and v_version.maps_input then
                v_problem := 'input: ' || stepwell._maps_input_problem(v_version, v_input);
            end if;
        end if;
    end if;
    if v_problem is not null then
        perform stepwell._units_fail(array[p_tenant_id], array[p_unit_id], array[jsonb_build_object(
            'failure_class', v_failure_class, 'outcome', 'dead', 'error',
            jsonb_build_object('type', case v_failure_class when 'expression_error' then 'ExpressionError' else 'SubWorkflow' end,
                'message', v_problem))], 'mow_orchestrator');
        return;
    end if;
    insert into stepwell.run_detail (
        tenant_id, run_id, version_id, workflow_id, trigger_type, trigger_ref, input, trace_id, correlation_id,
        started_by, parent_unit_id, depth, next_unit_no, created_at)
    values (p_tenant_id, nextval('stepwell.run_seq'), v_version.version_id, v_version.workflow_id, 'subworkflow',
        p_unit_id || ':' || v_lease_no, v_input, v_parent.trace_id, v_parent.correlation_id, 'unit:' || p_unit_id, p_unit_id,
        v_parent.depth + 1, v_version.step_count + 1, stepwell.now())
    returning run_id into v_run_id;
    perform stepwell._run_create(p_tenant_id, v_version, array[v_run_id], 0, 'engine', array[p_unit_id]);
end
$$;

-- Runs that ended inside a sub-workflow step give their result, or their failure, to that step.
-- Locks: the parent run, out of order (a parent is older than its child), so without waiting: when another transaction
--   holds it, the whole transaction ends with 55P03 and its client tries again.
-- Raises: 55P03 when the parent run is locked by another transaction (try again).
create or replace function stepwell._subruns_end(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_child record;
    v_result jsonb;
begin
    for v_child in
        select r.tenant_id, r.run_id, r.parent_unit_id, r.finished_state
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.run_detail as r on q.tenant_id = r.tenant_id and stepwell._run_of(q.unit_id) = r.run_id
        where r.parent_unit_id is not null
        order by r.parent_unit_id
    loop
        perform 1 from stepwell.run_progress as p
        where p.tenant_id = v_child.tenant_id and p.run_id = stepwell._run_of(v_child.parent_unit_id)
        for update nowait;
        if exists (select from stepwell.work_unit as u
            where u.tenant_id = v_child.tenant_id and u.unit_id = v_child.parent_unit_id
                and u.state_code in ('in_progress', 'overdue')) then
            delete from stepwell.timer as t
            where t.tenant_id = v_child.tenant_id and t.unit_id = v_child.parent_unit_id and t.timer_kind = 'wait_timeout';
            v_result := case when v_child.finished_state = 'completed' then stepwell._run_result(v_child.tenant_id, v_child.run_id) end;
            if pg_column_size(v_result) > stepwell._limit('limits.composed_result_bytes') then
                perform stepwell._engine_result_refuse(v_child.tenant_id, v_child.parent_unit_id, pg_column_size(v_result));
            elsif v_child.finished_state = 'completed' then
                perform stepwell._engine_complete(array[v_child.tenant_id], array[v_child.parent_unit_id], array[v_result]);
            else
                perform stepwell._units_fail(array[v_child.tenant_id], array[v_child.parent_unit_id],
                    array[jsonb_build_object('failure_class', 'upstream_failed', 'outcome', 'dead', 'error',
                        jsonb_build_object('type', 'SubWorkflow', 'message',
                            format('run %s of the sub-workflow is %s', v_child.run_id, v_child.finished_state),
                            'run_id', v_child.run_id))], 'mow_orchestrator');
            end if;
            perform stepwell._runs_settle(array[v_child.tenant_id], array[v_child.parent_unit_id]);
        end if;
    end loop;
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
            and u.scope = 'workflow_run' and u.state_code not in ('completed', 'cancelled', 'failed')
        union all
        select stepwell._run_of(u.unit_id)
        from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id
            and u.parent_id between stepwell._run_unit(p_run_id) + 1 and stepwell._run_unit(p_run_id + 1) - 1
            and u.scope = 'workflow_run' and u.state_code not in ('completed', 'cancelled', 'failed')
        union all
        select stepwell._run_of(u.unit_id)
        from down as d
        inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.parent_id
            between stepwell._run_unit(d.run_id) + 1 and stepwell._run_unit(d.run_id + 1) - 1
        where u.scope = 'workflow_run' and u.state_code not in ('completed', 'cancelled', 'failed')
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
        and u.unit_id between stepwell._run_unit(r.run_id) + 1 and stepwell._run_unit(r.run_id + 1) - 1
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
