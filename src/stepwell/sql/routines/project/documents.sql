-- Runs, steps, approvals and receipts under the names and with the words of documents 003 (runtime) and 004 (linear
-- workflow). Read only: nothing executes on them.

-- Instances of document 004. The current step is the first one that is not done, and the last one when all are.
create or replace view stepwell.workflow_instance with (security_invoker = true) as
select
    r.tenant_id,
    r.run_id as instance_id,
    w.workflow_name as workflow_type,
    v.version_no as workflow_version,
    x.status,
    c.step_seq as current_step_seq,
    c.step_type as current_step_type,
    r.created_at,
    case when x.status = 'COMPLETED' then r.finished_at end as completed_at,
    case when x.status = 'FAILED' then r.finished_at end as failed_at
from stepwell.run_detail as r
inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and stepwell._run_unit(r.run_id) = u.unit_id
inner join stepwell.workflow_version as v on r.tenant_id = v.tenant_id and r.version_id = v.version_id
inner join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
cross join lateral (
    select (select d.linear_code from stepwell.v_unit_dialect as d where d.tenant_id = u.tenant_id and d.unit_id = u.unit_id) as status
    offset 0
) as x
left join lateral (
    select stepwell._unit_no(s.unit_id) - 1 as step_seq, d.step_id as step_type
    from stepwell.work_unit as s
    inner join stepwell.workflow_step_def as d
        on s.tenant_id = d.tenant_id and s.version_id = d.version_id and s.def_no = d.step_no
    where s.tenant_id = r.tenant_id and s.scope = 'step'
        and s.unit_id between stepwell._run_unit(r.run_id) + 1 and stepwell._run_last(r.run_id)
    order by
        s.state_code in ('completed', 'skipped'),
        case when s.state_code in ('completed', 'skipped') then -s.unit_id else s.unit_id end
    limit 1
) as c on true;

-- Steps of document 004. The steps of a chain have the numbers 0 to n-1; the steps of map items come after them. Attempts
-- are those that have ended without success. The deadline is that of the wait.
create or replace view stepwell.workflow_step with (security_invoker = true) as
select
    u.tenant_id,
    stepwell._run_of(u.unit_id) as instance_id,
    stepwell._unit_no(u.unit_id) - 1 as step_seq,
    d.step_id as step_type,
    (
        select l.linear_code from stepwell.v_unit_dialect as l
        where l.tenant_id = u.tenant_id and l.unit_id = u.unit_id
    ) as status,
    s.worker_name as locked_by,
    s.expires_at as locked_until,
    case when u.state_code in ('ready', 'failed') then coalesce((
        select min(t.due_at) from stepwell.timer as t
        where t.tenant_id = u.tenant_id and t.unit_id = u.unit_id and t.timer_kind in ('start', 'retry', 'sleep')
    ), u.last_transition_at) end as next_run_at,
    u.attempt_count::int as attempts,
    u.max_attempts::int as max_attempts,
    w.event_type as waiting_event_type,
    (
        select t.due_at from stepwell.timer as t
        where t.tenant_id = u.tenant_id and t.unit_id = u.unit_id and t.timer_kind = 'wait_timeout'
    ) as deadline_at,
    (
        select case f.error ->> 'type' when 'LEASE_EXPIRED' then 'LEASE_EXPIRED'
            else concat_ws(': ', f.error ->> 'type', f.error ->> 'message') end
        from stepwell.unit_failure as f
        where f.tenant_id = u.tenant_id and f.unit_id = u.unit_id
        order by f.lease_no desc, f.failed_at desc limit 1
    ) as last_error,
    u.completed_at
from stepwell.work_unit as u
inner join stepwell.workflow_step_def as d
    on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
left join stepwell.worker_session as s on u.lease_session_id = s.session_id
left join stepwell.event_wait as w on u.tenant_id = w.tenant_id and u.unit_id = w.unit_id
where u.scope = 'step';

-- Runs of document 003.
create or replace view stepwell.runtime_run with (security_invoker = true) as
select
    r.tenant_id,
    r.run_id,
    stepwell._workspace_of(r.tenant_id, stepwell._run_unit(r.run_id)) as workspace_id,
    r.version_id as workflow_version_id,
    r.trigger_type,
    r.trigger_ref,
    (
        select d.runtime_code from stepwell.v_unit_dialect as d
        where d.tenant_id = r.tenant_id and d.unit_id = stepwell._run_unit(r.run_id)
    ) as status
from stepwell.run_detail as r;

-- Steps of document 003. The idempotency key is the one that the handler reads (ctx.idempotency_key); each effect has its
-- own key, in runtime_receipt.
create or replace view stepwell.runtime_step with (security_invoker = true) as
select
    u.tenant_id,
    stepwell._workspace_of(u.tenant_id, u.unit_id) as workspace_id,
    stepwell._run_of(u.unit_id) as run_id,
    d.step_id,
    stepwell._unit_no(u.unit_id) - 1 as step_index,
    coalesce(o.operation_name, d.step_kind) as tool_name,
    'stepwell:' || u.tenant_id || ':' || u.unit_id as idempotency_key,
    s.worker_name as lease_owner,
    s.expires_at as lease_expires_at,
    (
        select l.runtime_code from stepwell.v_unit_dialect as l
        where l.tenant_id = u.tenant_id and l.unit_id = u.unit_id
    ) as status,
    stepwell._attempt_no(u.state_code, u.attempt_count, u.started_at) as attempt,
    (
        select f.error from stepwell.unit_failure as f
        where f.tenant_id = u.tenant_id and f.unit_id = u.unit_id
        order by f.lease_no desc, f.failed_at desc limit 1
    ) as last_error,
    (
        select min(t.due_at) from stepwell.timer as t
        where t.tenant_id = u.tenant_id and t.unit_id = u.unit_id and t.timer_kind in ('start', 'retry', 'sleep')
    ) as next_eligible_at
from stepwell.work_unit as u
inner join stepwell.workflow_step_def as d
    on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
left join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
left join stepwell.worker_session as s on u.lease_session_id = s.session_id
where u.scope = 'step';

-- Approvals of document 003.
create or replace view stepwell.runtime_approval with (security_invoker = true) as
select
    a.tenant_id,
    a.approval_id,
    case when s.scope in ('workflow_run', 'step', 'task') then stepwell._run_of(s.unit_id) end as run_id,
    (array['low', 'med', 'high'])[least(a.tier, 3)] as tier,
    a.quorum >= 2 as two_person,
    d.dialect_code as status
from stepwell.approval_detail as a
inner join stepwell.work_unit as u on a.tenant_id = u.tenant_id and a.approval_id = u.unit_id
inner join stepwell.state_dialect as d
    on d.dialect = 'runtime' and d.scope = 'approval' and d.qualifier = '' and u.state_code = d.state_code
left join stepwell.work_unit as s on a.tenant_id = s.tenant_id and a.subject_unit_id = s.unit_id;

-- Action receipts of document 003: what was attempted, what happened, whether and how it is reversed.
create or replace view stepwell.runtime_receipt with (security_invoker = true) as
select
    r.tenant_id,
    r.receipt_id,
    r.run_id,
    r.step_id,
    r.idempotency_key,
    (
        select y.request_metadata from stepwell.v_receipt_payload as y
        where y.tenant_id = r.tenant_id and y.receipt_id = r.receipt_id
    ) as request_metadata,
    (
        select y.response_metadata from stepwell.v_receipt_payload as y
        where y.tenant_id = r.tenant_id and y.receipt_id = r.receipt_id
    ) as response_metadata,
    r.reversible,
    (
        select y.reversal from stepwell.v_receipt_payload as y
        where y.tenant_id = r.tenant_id and y.receipt_id = r.receipt_id
    ) as reversal,
    d.dialect_code as status
from stepwell.action_receipt as r
inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.receipt_id = u.unit_id
inner join stepwell.state_dialect as d
    on d.dialect = 'runtime' and d.scope = 'receipt' and d.qualifier = '' and u.state_code = d.state_code;
