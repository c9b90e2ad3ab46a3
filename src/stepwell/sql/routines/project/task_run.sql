-- Tasks inside steps, each with a person in charge of its own.
create or replace view stepwell.task_run with (security_invoker = true) as
select
    u.tenant_id,
    u.unit_id as task_run_id,
    u.parent_id as step_run_id,
    u.unit_id >> 20 as run_id,
    u.state_machine_id,
    u.state_code,
    u.waiting_facet,
    u.waiting_facets,
    u.mandatory,
    u.pic_id,
    o.operation_name as operation,
    u.attempt_count,
    u.max_attempts,
    u.failure_class,
    u.started_at,
    u.completed_at,
    u.last_transition_at,
    u.deadline_at,
    u.overdue_first_at,
    u.completed_after_deadline,
    u.sla_breach_duration,
    u.blocked_escalated
from stepwell.work_unit as u
left join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
where u.scope = 'task';
