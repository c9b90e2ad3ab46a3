-- Jobs whose attempts are used up, with their whole history, for a person who decides what happens.

-- Every dead letter: what it was, where it belongs, and all its failures up to its end, oldest first.
create or replace view stepwell.v_dead_letter with (security_invoker = true) as
select
    d.tenant_id,
    d.unit_id,
    o.operation_name as operation,
    case when u.scope in ('step', 'task') then stepwell._run_of(u.unit_id) end as run_id,
    coalesce(s.step_id, t.task_id) as step_id,
    w.workflow_name as workflow,
    case when r.parent_unit_id is null then r.trigger_ref end as trigger_ref,
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
    ) as failures,
    stepwell._cause_of(d.error) as cause,
    u.max_attempts,
    (
        select coalesce(q.replay_state, q.proposal_state) from stepwell.dlq_replay_request as q
        where q.tenant_id = d.tenant_id and q.unit_id = d.unit_id and q.requested_at >= d.died_at
        order by q.replay_request_id desc limit 1
    ) as replay_state,
    exists (select from stepwell.dlq_replay_request as q
        where q.tenant_id = d.tenant_id and q.unit_id = d.unit_id
            and q.proposal_state in ('submitted', 'approved') and q.replay_state is null) as is_asked
from stepwell.job_dead_letter as d
inner join stepwell.work_unit as u on d.tenant_id = u.tenant_id and d.unit_id = u.unit_id
left join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
left join stepwell.workflow_step_def as s
    on u.tenant_id = s.tenant_id and u.version_id = s.version_id and u.def_no = s.step_no
left join stepwell.task_detail as t on u.tenant_id = t.tenant_id and u.unit_id = t.unit_id
-- By its key, see job_queue.
left join lateral (
    select i.tenant_id, i.workflow_id, i.trigger_ref, i.parent_unit_id from stepwell.run_detail as i
    where u.scope in ('step', 'task') and i.tenant_id = u.tenant_id and i.run_id = stepwell._run_of(u.unit_id) offset 0
) as r on true
left join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id;

-- Open dead letters that share operation, class of failure and cause: how many, since when, until when.
create or replace view stepwell.v_dead_letter_cause with (security_invoker = true) as
select
    d.tenant_id,
    o.operation_name as operation,
    d.failure_class,
    stepwell._cause_of(d.error) as cause,
    count(*) as letter_count,
    count(distinct stepwell._run_of(d.unit_id)) filter (where u.scope in ('step', 'task')) as run_count,
    min(d.died_at) as oldest_at,
    max(d.died_at) as newest_at
from stepwell.job_dead_letter as d
inner join stepwell.work_unit as u on d.tenant_id = u.tenant_id and d.unit_id = u.unit_id
left join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
where d.resolved_at is null
group by d.tenant_id, o.operation_name, d.failure_class, stepwell._cause_of(d.error);

-- What a dead unit was given: the payload of a job, the bound inputs of a step. Null for who may not read payloads.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW007 for another tenant.
create or replace function stepwell.fn_dead_letter_payload(p_tenant_id int, p_unit_id bigint) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select case when stepwell._unit_no(p_unit_id) = 0
        then (select y.payload from stepwell.v_job_payload as y where y.tenant_id = p_tenant_id and y.job_id = p_unit_id)
        else stepwell.fn_step_inputs_read(p_tenant_id, p_unit_id) -> 'bound' end
$$;
