-- Purpose: starts the run of a sub-workflow step, its input bound from the parent's document. A workflow that does not
--   exist, or too deep a nesting, fails the step with a clear reason.
-- Locks: the caller holds the parent run.
-- Idempotency: once per step attempt; the trigger (parent unit, attempt) deduplicates.
-- Raises: nothing of its own.
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
    v_problem text;
begin
    select r.* into v_parent from stepwell.run_detail as r where r.tenant_id = p_tenant_id and r.run_id = p_unit_id >> 20;
    select u.lease_no into v_lease_no from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    if v_parent.depth + 1 > stepwell._limit('limits.nesting') then
        v_problem := format('sub-workflows nest deeper than %s', stepwell._limit('limits.nesting'));
    else
        begin
            v_version := stepwell._version_find(p_tenant_id, p_workflow_name, null);
        exception when sqlstate 'SW002' then
            v_problem := sqlerrm;
        end;
    end if;
    if v_problem is not null then
        perform stepwell._units_fail(array[p_tenant_id], array[p_unit_id], array[jsonb_build_object(
            'failure_class', 'not_found', 'outcome', 'dead', 'error',
            jsonb_build_object('type', 'SubWorkflow', 'message', v_problem))], 'mow_orchestrator');
        return;
    end if;
    insert into stepwell.run_detail (
        tenant_id, run_id, version_id, workflow_id, trigger_type, trigger_ref, input, trace_id, correlation_id,
        started_by, parent_unit_id, depth, next_unit_no, created_at)
    values (p_tenant_id, nextval('stepwell.stream_seq'), v_version.version_id, v_version.workflow_id, 'subworkflow',
        p_unit_id || ':' || v_lease_no,
        coalesce(case when p_inputs is not null then stepwell._inputs_bind(p_tenant_id, p_unit_id, p_inputs, null) end,
            v_parent.input), v_parent.trace_id, v_parent.correlation_id, 'unit:' || p_unit_id, p_unit_id,
        v_parent.depth + 1, v_version.step_count + 1, stepwell.now())
    returning run_id into v_run_id;
    perform stepwell._run_create(p_tenant_id, v_version, array[v_run_id], 0, 'engine', array[p_unit_id]);
    perform stepwell._workers_wake(null);
end
$$;
