-- Steps of runs: business state, who carries the step out, lease, attempts, deadline, last output and last error.
create or replace view stepwell.step_run with (security_invoker = true) as
select
    u.tenant_id,
    u.unit_id as step_run_id,
    u.unit_id >> 20 as run_id,
    u.def_no as step_no,
    d.step_id,
    d.step_kind,
    d.scope_no,
    d.branch_no,
    d.group_no,
    u.parent_id,
    u.version_id,
    u.state_machine_id,
    u.state_code,
    u.waiting_facet,
    u.waiting_facets,
    u.mandatory,
    u.pending_count::int,
    u.priority,
    o.operation_name as operation,
    c.class_name as executor,
    u.pic_id,
    d.config ->> 'role' as role,
    u.attempt_count,
    u.max_attempts,
    u.failure_class,
    u.lease_session_id,
    s.worker_name as lease_owner,
    case when u.lease_session_id is not null then u.lease_no end as lease_token,
    s.expires_at as lease_expires_at,
    u.lease_no as request_id,
    (
        select min(t.due_at) from stepwell.timer as t
        where t.tenant_id = u.tenant_id and t.unit_id = u.unit_id and t.timer_kind in ('start', 'retry', 'sleep')
    ) as next_eligible_at,
    (
        select f.error from stepwell.unit_failure as f
        where f.tenant_id = u.tenant_id and f.unit_id = u.unit_id
        order by f.lease_no desc, f.failed_at desc limit 1
    ) as last_error,
    (
        select x.output from stepwell.unit_output as x
        where x.tenant_id = u.tenant_id and x.unit_id = u.unit_id
        order by x.lease_no desc limit 1
    ) as output,
    u.started_at,
    u.completed_at,
    u.last_transition_at,
    u.deadline_at,
    u.overdue_first_at,
    u.completed_after_deadline,
    u.sla_breach_duration,
    u.blocked_escalated,
    (
        select max(e.level) from stepwell.step_escalation as e
        where e.tenant_id = u.tenant_id and e.unit_id = u.unit_id and e.told_at is not null
    ) as escalation_level
from stepwell.work_unit as u
inner join stepwell.workflow_step_def as d
    on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
left join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
left join stepwell.executor_class as c on u.class_id = c.class_id
left join stepwell.worker_session as s on u.lease_session_id = s.session_id
where u.scope = 'step';
