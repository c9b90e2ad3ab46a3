-- Runs as people know them: which workflow and version, why it runs, where it stands, its roll-up and its counts.
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
    r.input,
    r.trace_id,
    r.correlation_id,
    r.started_by,
    r.parent_unit_id,
    r.parent_unit_id >> 20 as parent_run_id,
    r.depth,
    r.created_at,
    u.started_at,
    r.finished_at,
    u.last_transition_at,
    p.last_rollup_at,
    p.frozen_at,
    u.deadline_at
from stepwell.run_detail as r
inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.run_id << 20 = u.unit_id
inner join stepwell.run_progress as p on r.tenant_id = p.tenant_id and r.run_id = p.run_id
inner join stepwell.workflow_version as v on r.tenant_id = v.tenant_id and r.version_id = v.version_id
inner join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id;
