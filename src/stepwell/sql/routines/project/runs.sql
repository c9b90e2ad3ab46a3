-- Runs, steps and tasks under the names that people look for.

-- Runs: workflow and version, trigger, state, roll-up and counters.
create or replace view stepwell.workflow_run with (security_invoker = true) as
select
    r.tenant_id,
    r.run_id,
    u.unit_id,
    w.workflow_name as workflow,
    v.version_no,
    r.workflow_id,
    r.version_id,
    u.state_machine_id,
    u.state_code,
    p.rollup_state_code::text,
    v.failure_policy,
    u.priority,
    p.open_count::int,
    p.mandatory_count,
    p.idle_count,
    p.active_count,
    p.wait_count,
    p.red_count,
    p.completed_count,
    p.skipped_count,
    p.failed_count,
    r.trigger_type,
    r.trigger_ref,
    (
        select y.input from stepwell.v_run_payload as y
        where y.tenant_id = r.tenant_id and y.run_id = r.run_id
    ) as input,
    r.trace_id,
    r.correlation_id,
    r.started_by,
    r.parent_unit_id,
    stepwell._run_of(r.parent_unit_id) as parent_run_id,
    r.depth,
    r.created_at,
    u.started_at,
    r.finished_at,
    u.last_transition_at,
    p.last_rollup_at,
    p.frozen_at,
    u.deadline_at,
    p.workspace_id,
    s.workspace_name as workspace,
    -- The names of the source document (000, section 2.2).
    r.run_id as workflow_run_id,
    r.version_id as workflow_def_id,
    stepwell.fn_workflow_rollup_compute(r.run_id, r.tenant_id) as rollup_basis_jsonb,
    -- A subquery, not a call: a list asks for the labels of many runs, and a call is prepared for each of them.
    (
        select coalesce(jsonb_object_agg(l.label_key, l.label_value), '{}')
        from stepwell.run_label as l
        where l.tenant_id = r.tenant_id and l.run_id = r.run_id
    ) as labels
from stepwell.run_detail as r
inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and stepwell._run_unit(r.run_id) = u.unit_id
inner join stepwell.run_progress as p on r.tenant_id = p.tenant_id and r.run_id = p.run_id
inner join stepwell.workflow_version as v on r.tenant_id = v.tenant_id and r.version_id = v.version_id
inner join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
left join stepwell.workspace as s on p.tenant_id = s.tenant_id and p.workspace_id = s.workspace_id;

-- Steps of runs: state, who carries them out, lease, attempts, deadline, last output and last error.
create or replace view stepwell.step_run with (security_invoker = true) as
select
    u.tenant_id,
    u.unit_id as step_run_id,
    stepwell._run_of(u.unit_id) as run_id,
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
    stepwell._attempt_no(u.state_code, u.attempt_count, u.started_at) as attempt,
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
    ) as escalation_level,
    (
        select i.inputs from stepwell.v_step_payload as i
        where i.tenant_id = u.tenant_id and i.unit_id = u.unit_id
        order by i.binding_no desc limit 1
    ) as inputs,
    (
        select p.progress from stepwell.v_unit_progress as p
        where p.tenant_id = u.tenant_id and p.unit_id = u.unit_id
    ) as progress,
    -- The chain whose people were told that the step is open: it waits for them (000, section 4.5).
    (
        select 'chain:' || u.unit_id from stepwell.step_escalation as e
        where e.tenant_id = u.tenant_id and e.unit_id = u.unit_id and e.told_at is not null limit 1
    ) as escalation_chain_id,
    -- The names of the source document (000, section 2.2).
    stepwell._run_of(u.unit_id) as workflow_run_id,
    (u.version_id::bigint << 20) | u.def_no as step_def_id,
    (
        select (p.iu_id << 20) | p.version_no from stepwell.step_content_pin as p
        where p.tenant_id = u.tenant_id and p.run_id = stepwell._run_of(u.unit_id) and p.step_no = u.def_no
    ) as pinned_iu_version_id,
    c.class_name as executor_class_ref,
    (select r.trace_id from stepwell.run_detail as r where r.tenant_id = u.tenant_id and r.run_id = stepwell._run_of(u.unit_id)) as trace_id,
    (select r.correlation_id from stepwell.run_detail as r where r.tenant_id = u.tenant_id and r.run_id = stepwell._run_of(u.unit_id))
        as correlation_id
from stepwell.work_unit as u
inner join stepwell.workflow_step_def as d
    on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
left join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
left join stepwell.executor_class as c on u.executor_class_id = c.executor_class_id
left join stepwell.worker_session as s on u.lease_session_id = s.session_id
where u.scope = 'step';

-- Tasks inside human steps, each with its own person in charge.
create or replace view stepwell.task_run with (security_invoker = true) as
select
    u.tenant_id,
    u.unit_id as task_run_id,
    u.parent_id as step_run_id,
    stepwell._run_of(u.unit_id) as run_id,
    u.state_machine_id,
    u.state_code,
    u.waiting_facet,
    u.waiting_facets,
    u.mandatory,
    u.pic_id,
    o.operation_name as operation,
    stepwell._attempt_no(u.state_code, u.attempt_count, u.started_at) as attempt,
    u.max_attempts,
    u.failure_class,
    u.started_at,
    u.completed_at,
    u.last_transition_at,
    u.deadline_at,
    u.overdue_first_at,
    u.completed_after_deadline,
    u.sla_breach_duration,
    u.blocked_escalated,
    -- The names of the source document (000, section 2.2).
    stepwell._run_of(u.unit_id) as workflow_run_id,
    (u.version_id::bigint << 20) | s.def_no as step_def_id,
    (
        select (p.iu_id << 20) | p.version_no from stepwell.step_content_pin as p
        where p.tenant_id = u.tenant_id and p.run_id = stepwell._run_of(u.unit_id) and p.step_no = s.def_no
    ) as pinned_iu_version_id,
    (select c.class_name from stepwell.executor_class as c where c.executor_class_id = u.executor_class_id) as executor_class_ref,
    (select r.trace_id from stepwell.run_detail as r where r.tenant_id = u.tenant_id and r.run_id = stepwell._run_of(u.unit_id)) as trace_id,
    (select r.correlation_id from stepwell.run_detail as r where r.tenant_id = u.tenant_id and r.run_id = stepwell._run_of(u.unit_id))
        as correlation_id
from stepwell.work_unit as u
inner join stepwell.work_unit as s on u.tenant_id = s.tenant_id and u.parent_id = s.unit_id
left join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
where u.scope = 'task';
