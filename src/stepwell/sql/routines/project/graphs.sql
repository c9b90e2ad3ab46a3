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
    r.trigger_ref as key
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
    w.status,
    n.waiting_steps,
    n.queued_steps,
    n.in_progress_steps,
    n.retry_waiting_steps,
    n.parked_steps,
    n.succeeded_steps,
    n.dead_letter_steps,
    n.cancelled_steps,
    w.enqueued_at,
    w.finished_at
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
