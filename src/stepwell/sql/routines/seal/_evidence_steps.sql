-- Purpose: what an evidence bundle says of the steps and tasks of a run: state, attempts, times, who was in charge.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._evidence_steps(p_tenant_id int, p_run_id bigint) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce(jsonb_agg(to_jsonb(x) order by x.unit_id), '[]') from (
        select u.unit_id, u.scope, d.step_kind as kind, u.state_code,
            coalesce(k.task_id, d.step_id) || case when d.scope_no <> 0 then '[' || coalesce(u.item_no, 0) || ']' else '' end
                as name,
            o.operation_name as operation, u.mandatory, u.attempt_count, u.failure_class, n.person_name as pic,
            u.started_at, u.completed_at, u.deadline_at, u.completed_after_deadline
        from stepwell.work_unit as u
        left join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        left join stepwell.task_detail as k on u.tenant_id = k.tenant_id and u.unit_id = k.unit_id
        left join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
        left join stepwell.person as n on u.tenant_id = n.tenant_id and u.pic_id = n.person_id
        where u.tenant_id = p_tenant_id and u.scope in ('step', 'task')
            and u.unit_id between (p_run_id << 20) + 1 and ((p_run_id + 1) << 20) - 1
    ) as x
$$;
