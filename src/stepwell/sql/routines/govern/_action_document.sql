-- Purpose: what a policy may read about an action: the action itself, where it comes from, and the input of its run.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._action_document(
    p_session_id bigint, p_tenant_id int, p_unit_id bigint, p_action jsonb
) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select p_action - 'key' - 'hash' - 'token' || jsonb_build_object(
        'tenant', t.tenant_code, 'workflow', w.workflow_name, 'step', d.step_id, 'run_id', u.unit_id >> 20,
        'actor', 'worker:' || s.worker_name, 'started_by', coalesce(r.started_by, j.created_by),
        'attempt', u.attempt_count + 1, 'input', coalesce(r.input, j.payload, '{}'))
    from stepwell.work_unit as u
    inner join stepwell.tenant as t on u.tenant_id = t.tenant_id
    left join stepwell.worker_session as s on s.session_id = p_session_id
    left join stepwell.run_detail as r on u.tenant_id = r.tenant_id and u.unit_id >> 20 = r.run_id
    left join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
    left join stepwell.workflow_step_def as d
        on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    left join stepwell.job_detail as j on u.tenant_id = j.tenant_id and u.unit_id = j.job_id
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id
$$;
