-- The log for a reader: every event with the names of what it is about. Filter by trace_id, correlation_id or run_id.
create or replace view stepwell.vw_audit_event_timeline with (security_invoker = true) as
select
    e.tenant_id,
    e.event_id,
    e.tx,
    e.at,
    e.event_type,
    t.description,
    e.stream_id as run_id,
    e.unit_id,
    u.scope,
    w.workflow_name as workflow,
    d.step_id,
    e.request_id,
    e.from_state,
    e.to_state,
    e.actor_class,
    e.actor,
    e.audit_ref,
    coalesce(e.trace_id, r.trace_id, j.trace_id) as trace_id,
    coalesce(e.correlation_id, r.correlation_id, j.correlation_id) as correlation_id,
    e.payload
from stepwell.event_log as e
left join stepwell.event_type_registry as t on e.event_type = t.event_type
left join stepwell.work_unit as u on e.tenant_id = u.tenant_id and e.unit_id = u.unit_id
left join stepwell.run_detail as r on e.tenant_id = r.tenant_id and e.stream_id = r.run_id
left join stepwell.job_detail as j on e.tenant_id = j.tenant_id and e.unit_id = j.job_id
left join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
left join stepwell.workflow_step_def as d
    on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no;
