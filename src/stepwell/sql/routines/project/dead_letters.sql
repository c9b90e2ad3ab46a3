-- Jobs whose attempts are used up, with their whole history, for a person who decides what happens.

-- Every dead letter: what it was, where it belongs, and all its failures up to its end, oldest first.
create or replace view stepwell.v_dead_letter with (security_invoker = true) as
select
    d.tenant_id,
    d.unit_id,
    o.operation_name as operation,
    case when u.scope = 'step' then stepwell._run_of(u.unit_id) end as run_id,
    s.step_id,
    w.workflow_name as workflow,
    d.died_at,
    d.failure_class,
    d.error,
    d.attempt_count as attempt,
    d.resolved_at,
    d.resolution,
    (
        select
            coalesce(jsonb_agg(jsonb_build_object(
                'attempt', f.attempt_count, 'failed_at', f.failed_at, 'failure_class', f.failure_class,
                'classification', f.classification, 'error', f.error) order by f.failed_at, f.lease_no), '[]')
        from stepwell.unit_failure as f
        where f.tenant_id = d.tenant_id and f.unit_id = d.unit_id and f.failed_at <= d.died_at
    ) as failures
from stepwell.job_dead_letter as d
inner join stepwell.work_unit as u on d.tenant_id = u.tenant_id and d.unit_id = u.unit_id
left join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
left join stepwell.workflow_step_def as s
    on u.tenant_id = s.tenant_id and u.version_id = s.version_id and u.def_no = s.step_no
-- By its key, see job_queue.
left join lateral (
    select i.tenant_id, i.workflow_id from stepwell.run_detail as i
    where u.scope = 'step' and i.tenant_id = u.tenant_id and i.run_id = stepwell._run_of(u.unit_id) offset 0
) as r on true
left join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id;
