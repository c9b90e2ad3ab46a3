-- Job workflows under the names of document 001, and who may execute: nothing here can name the generator.

-- Every job workflow: a run of a template, with its derived status.
create or replace view stepwell.job_workflow with (security_invoker = true) as
select
    w.tenant_id,
    w.workflow_id,
    w.workflow_kind,
    w.generator,
    w.template_id,
    v.version_no as template_version,
    stepwell._graph_status(r.finished_state, p.completed_count, p.failed_count) as status,
    r.correlation_id,
    w.params_keys,
    v.step_count as job_count,
    p.open_count,
    p.completed_count as succeeded_count,
    p.failed_count as dead_letter_count,
    stepwell._run_of(r.parent_unit_id) as parent_workflow_id,
    r.parent_unit_id as parent_job_id,
    r.started_by as emitted_by,
    r.created_at as enqueued_at,
    r.finished_at,
    w.refreshed_at,
    r.trigger_ref as key,
    w.status as stored_status
from stepwell.job_workflow_detail as w
inner join stepwell.run_detail as r on w.tenant_id = r.tenant_id and w.workflow_id = r.run_id
inner join stepwell.run_progress as p on w.tenant_id = p.tenant_id and w.workflow_id = p.run_id
inner join stepwell.workflow_version as v on r.tenant_id = v.tenant_id and r.version_id = v.version_id;

-- How many jobs of each job workflow are in which state.
create or replace view stepwell.v_job_workflow_health with (security_invoker = true) as
select
    w.tenant_id,
    w.workflow_id,
    w.workflow_kind,
    w.generator,
    w.template_id,
    w.template_version,
    w.status,
    w.correlation_id,
    w.params_keys,
    w.job_count,
    n.waiting_steps,
    n.queued_steps,
    n.in_progress_steps,
    n.retry_waiting_steps,
    n.parked_steps,
    n.succeeded_steps,
    n.dead_letter_steps,
    n.cancelled_steps,
    w.parent_workflow_id,
    w.emitted_by,
    w.enqueued_at,
    w.finished_at,
    w.refreshed_at
from stepwell.job_workflow as w
cross join lateral (
    select
        count(*) filter (where u.state_code = 'not_started') as waiting_steps,
        count(*) filter (where u.state_code = 'ready') as queued_steps,
        count(*) filter (where u.state_code in ('in_progress', 'overdue')) as in_progress_steps,
        count(*) filter (where u.state_code = 'failed') as retry_waiting_steps,
        count(*) filter (where u.state_code in ('waiting', 'blocked', 'paused')) as parked_steps,
        count(*) filter (where u.state_code in ('completed', 'skipped')) as succeeded_steps,
        count(*) filter (where u.state_code = 'cannot_complete') as dead_letter_steps,
        count(*) filter (where u.state_code = 'cancelled') as cancelled_steps
    from stepwell.work_unit as u
    where u.tenant_id = w.tenant_id and u.scope = 'step'
        and u.unit_id between stepwell._run_unit(w.workflow_id) + 1 and stepwell._run_last(w.workflow_id)
) as n;

-- The templates of job graphs, each in its newest version.
create or replace view stepwell.v_job_template with (security_invoker = true) as
select
    t.tenant_id,
    t.template_id,
    t.workflow_kind,
    t.description,
    v.version_no,
    v.step_count as job_count,
    t.template,
    t.registered_at,
    t.registered_by
from stepwell.job_template as t
cross join lateral (
    select x.version_no, x.step_count from stepwell.workflow_version as x
    where x.tenant_id = t.tenant_id and x.workflow_id = t.workflow_id
    order by x.version_no desc limit 1
) as v;

-- Event routes, with the names of their operations.
create or replace view stepwell.v_event_route with (security_invoker = true) as
select
    r.tenant_id,
    r.route_name,
    r.event_type,
    o.operation_name,
    r.fields,
    r.priority,
    r.created_at,
    r.created_by
from stepwell.event_route as r
inner join stepwell.operation as o on r.tenant_id = o.tenant_id and r.operation_id = o.operation_id;

-- The jobs of each job workflow, with nested graphs.
create or replace view stepwell.v_graph_job with (security_invoker = true) as
select
    w.tenant_id,
    w.workflow_id,
    u.unit_id as job_id,
    d.step_id as local_id,
    o.operation_name as job_kind,
    c.class_name as executor,
    u.state_code,
    case when d.config ->> 'join' = 'any' then 'any' else 'all' end as join_kind,
    array(
        select u.unit_id + r.from_no - u.def_no from stepwell.workflow_step_relations as r
        where r.tenant_id = u.tenant_id and r.version_id = u.version_id and r.to_no = u.def_no order by r.from_no
    ) as parents,
    stepwell._job_ref(d.config ->> 'source_ref', w.ref_params) as source_ref,
    stepwell._job_ref(d.config ->> 'target_ref', w.ref_params) as target_ref,
    stepwell._job_ref(d.config ->> 'payload_ref', w.ref_params) as payload_ref,
    (
        select t.due_at from stepwell.timer as t
        where t.tenant_id = u.tenant_id and t.unit_id = u.unit_id and t.timer_kind = 'start'
    ) as process_after,
    u.priority,
    stepwell._attempt_no(u.state_code, u.attempt_count, u.started_at) as attempt,
    u.max_attempts,
    (
        select max(r.run_id) from stepwell.run_detail as r
        where d.step_kind = 'subworkflow' and r.tenant_id = u.tenant_id and r.trigger_type = 'subworkflow'
            and r.trigger_ref = u.unit_id || ':' || u.lease_no
    ) as nested_workflow_id
from stepwell.job_workflow_detail as w
-- By the numbers of its jobs: under row level security a join reads all units of the tenant.
cross join lateral (
    select x.* from stepwell.work_unit as x
    where x.tenant_id = w.tenant_id and x.scope = 'step'
        and x.unit_id between stepwell._run_unit(w.workflow_id) + 1 and stepwell._run_last(w.workflow_id) offset 0
) as u
inner join stepwell.workflow_step_def as d
    on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
left join stepwell.operation as o on u.tenant_id = o.tenant_id and d.operation_id = o.operation_id
left join stepwell.executor_class as c on u.executor_class_id = c.executor_class_id;

-- Who consumes jobs: each worker session and the executors it serves.
create or replace view stepwell.consumer_registry with (security_invoker = true) as
select
    s.session_id as consumer_id,
    s.worker_name as consumer,
    c.class_name as executor,
    s.slot_count,
    s.started_at as registered_at,
    s.expires_at,
    s.closed_at
from stepwell.worker_session as s
cross join lateral unnest(s.executor_class_ids) as k (executor_class_id)
inner join stepwell.executor_class as c on k.executor_class_id = c.executor_class_id;

-- Which kinds of jobs each consumer gets; one that named none gets all of its executors.
create or replace view stepwell.job_subscription with (security_invoker = true) as
select
    o.tenant_id,
    s.session_id as consumer_id,
    s.worker_name as consumer,
    o.operation_name as job_kind,
    c.class_name as executor_kind,
    s.started_at as subscribed_at,
    s.closed_at
from stepwell.worker_session as s
inner join stepwell.operation as o
    on o.executor_class_id = any (s.executor_class_ids) and (s.handler_ids is null or o.handler_id = any (s.handler_ids))
inner join stepwell.executor_class as c on o.executor_class_id = c.executor_class_id;

-- The four surfaces of the document are views: nothing enters them but by the functions of the engine. A row that names the generator
-- is refused by the rule of the document, whoever writes it; any other row because it is a view.
-- Raises: 23514 for the generator; SW004 for every other row.
create or replace function stepwell._surface_refuse() returns trigger
language plpgsql
set search_path = stepwell, pg_temp
as $$
declare
    v_row constant jsonb := to_jsonb(new);
begin
    if stepwell._is_generator(coalesce(v_row ->> 'executor', v_row ->> 'executor_kind'))
        or stepwell._is_generator(coalesce(v_row ->> 'consumer', v_row ->> 'worker_name', v_row ->> 'lease_owner')) then
        raise exception using errcode = 'check_violation', constraint = 'the_generator_never_executes', table = tg_table_name,
            schema = tg_table_schema, message = format('%s: the generator never executes', tg_table_name);
    end if;
    raise exception using errcode = 'SW004', table = tg_table_name,
        message = format('%s is a view: jobs enter by fn_job_enqueue and fn_mot_graph_emit, workers by fn_worker_register', tg_table_name);
end
$$;
create or replace trigger the_generator_never_executes instead of insert or update on stepwell.job_queue
for each row execute function stepwell._surface_refuse();
create or replace trigger the_generator_never_executes instead of insert or update on stepwell.consumer_registry
for each row execute function stepwell._surface_refuse();
create or replace trigger the_generator_never_executes instead of insert or update on stepwell.job_subscription
for each row execute function stepwell._surface_refuse();
create or replace trigger the_generator_never_executes instead of insert or update on stepwell.queue_heartbeat
for each row execute function stepwell._surface_refuse();
