-- Everything executable under the names of document 001: free-standing jobs and the machine steps of runs.
create or replace view stepwell.job_queue with (security_invoker = true) as
select
    u.tenant_id,
    u.unit_id as job_id,
    u.scope as job_kind,
    o.operation_name as operation,
    c.class_name as executor,
    (
        select d.job_code from stepwell.v_unit_dialect as d
        where d.tenant_id = u.tenant_id and d.unit_id = u.unit_id
    ) as status,
    u.state_code,
    coalesce(j.idempotency_key, case when u.scope = 'step' then (u.unit_id >> 20) || ':' || s.step_id end)
        as idempotency_key,
    j.source_ref,
    j.target_ref,
    j.payload_ref,
    j.payload as safe_payload,
    (
        select t.due_at from stepwell.timer as t
        where t.tenant_id = u.tenant_id and t.unit_id = u.unit_id and t.timer_kind = 'start'
    ) as process_after,
    u.priority,
    case when u.scope = 'step' then u.unit_id >> 20 end as workflow_id,
    s.step_id,
    (
        select array_agg(u.unit_id + r.from_no - u.def_no order by r.from_no)
        from stepwell.workflow_step_relations as r
        where r.tenant_id = u.tenant_id and r.version_id = u.version_id and r.to_no = u.def_no
    ) as parents,
    u.pending_count::int,
    u.slot_key as concurrency_key,
    w.worker_name as lease_owner,
    case when u.lease_session_id is not null then u.lease_no end as lease_token,
    w.expires_at as lease_expires_at,
    u.attempt_count + case when u.state_code in ('in_progress', 'overdue') then 1 else 0 end as attempt,
    u.max_attempts,
    u.failure_class,
    (
        select f.error from stepwell.unit_failure as f
        where f.tenant_id = u.tenant_id and f.unit_id = u.unit_id
        order by f.lease_no desc, f.failed_at desc limit 1
    ) as last_error,
    (
        select min(t.due_at) from stepwell.timer as t
        where t.tenant_id = u.tenant_id and t.unit_id = u.unit_id and t.timer_kind in ('start', 'retry', 'sleep')
    ) as next_eligible_at,
    coalesce(j.trace_id, r.trace_id) as trace_id,
    coalesce(j.correlation_id, r.correlation_id) as correlation_id,
    coalesce(j.created_at, r.created_at) as created_at,
    coalesce(j.created_by, r.started_by) as created_by,
    u.started_at,
    u.completed_at,
    u.last_transition_at
from stepwell.work_unit as u
inner join stepwell.executor_class as c on u.class_id = c.class_id
inner join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
left join stepwell.job_detail as j on u.tenant_id = j.tenant_id and u.unit_id = j.job_id
left join stepwell.run_detail as r on u.tenant_id = r.tenant_id and u.unit_id >> 20 = r.run_id
left join stepwell.workflow_step_def as s
    on u.tenant_id = s.tenant_id and u.version_id = s.version_id and u.def_no = s.step_no
left join stepwell.worker_session as w on u.lease_session_id = w.session_id;
