-- Purpose: sub-workflow steps start their runs, one each, with their time-out. A run that fails while it starts may call
--   off the steps after it: those start none.
-- Locks: the caller holds the parent runs.
-- Idempotency: called once per step attempt.
-- Raises: nothing of its own.
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
        -- Not for one that ended while it started.
        insert into stepwell.timer (tenant_id, unit_id, timer_kind, due_at)
        select u.tenant_id, u.unit_id, 'wait_timeout', stepwell.now() + make_interval(secs => v_step.timeout_seconds)
        from stepwell.work_unit as u
        where u.tenant_id = v_step.tenant_id and u.unit_id = v_step.unit_id and u.state_code = 'in_progress'
            and v_step.timeout_seconds is not null;
    end loop;
end
$$;
