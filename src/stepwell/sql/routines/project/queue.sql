-- The queue under the names of document 001, its health, and the states of units in the words of the other documents.

-- Narrows the state of a run where a document has several words for it: partial (not every step succeeded), queued (nothing
-- has begun), approval and retry (nothing runs, because of these).
create or replace function stepwell._run_qualifier(p_tenant_id int, p_run_id bigint, p_state_code text) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select case
        when p_state_code = 'failed' then case when q.succeeded then 'partial' else '' end
        when p_state_code = 'completed' then case when q.not_succeeded then 'partial' else '' end
        when p_state_code <> 'in_progress' then ''
        when not q.begun then 'queued'
        when q.runs then ''
        when q.asks then 'approval'
        when q.retries then 'retry'
        else ''
    end
    from (
        select
            bool_or(s.state_code = 'completed') as succeeded,
            bool_or(s.state_code not in ('completed', 'skipped')) as not_succeeded,
            bool_or(s.state_code not in ('not_started', 'ready')
                or (s.state_code = 'ready' and (s.executor_class_id is null or s.started_at is not null))) as begun,
            bool_or(s.state_code in ('ready', 'in_progress', 'overdue')) as runs,
            bool_or(s.state_code = 'waiting' and s.waiting_facet = 'waiting_human' and exists (
                select from stepwell.approval_detail as a
                where a.tenant_id = s.tenant_id and a.subject_unit_id = s.unit_id and a.decided_at is null)) as asks,
            bool_or(s.state_code = 'failed') as retries
        from stepwell.work_unit as s
        where s.tenant_id = p_tenant_id and s.scope = 'step'
            and s.unit_id between stepwell._run_unit(p_run_id) + 1 and stepwell._run_last(p_run_id)
    ) as q
$$;

-- True for a unit that is ready after a call of it began, and goes on: its wait ended, its lease expired, it is tried again
-- now, or its person released it. In document 002 it runs until the call has its answer. A replayed unit begins again.
create or replace function stepwell._call_goes_on(p_unit stepwell.work_unit) returns boolean
language sql stable
set search_path = stepwell, pg_temp
as $$
    select p_unit.state_code = 'ready' and p_unit.started_at is not null and (
        p_unit.attempt_count > 0
        or not exists (
            select from stepwell.dlq_replay_request as r
            where r.tenant_id = p_unit.tenant_id and r.unit_id = p_unit.unit_id and r.replay_state = 'scheduled'
                and not exists (
                    select from stepwell.unit_wake as w
                    where w.tenant_id = p_unit.tenant_id and w.unit_id = p_unit.unit_id and w.woken_at > r.scheduled_at)))
$$;

-- The state of every unit in the words of the other documents: linear (004), runtime (003), node (002), job (001). A
-- qualifier is given where a document has two words for one state. Nothing executes on a dialect.
create or replace view stepwell.v_unit_dialect with (security_invoker = true) as
select
    q.tenant_id,
    q.unit_id,
    stepwell._run_of(q.unit_id) as run_id,
    q.scope,
    q.state_code,
    q.qualifier,
    (
        select d.dialect_code from stepwell.state_dialect as d
        where d.dialect = 'linear' and d.scope = q.word_scope and d.state_code = q.state_code
            and d.qualifier in ('', q.qualifier)
        order by d.qualifier desc limit 1
    ) as linear_code,
    (
        select d.dialect_code from stepwell.state_dialect as d
        where d.dialect = 'runtime' and d.scope = q.word_scope and d.state_code = q.state_code
            and d.qualifier in ('', q.qualifier)
        order by d.qualifier desc limit 1
    ) as runtime_code,
    (
        select d.dialect_code from stepwell.state_dialect as d
        where d.dialect = 'node' and d.scope = q.word_scope and d.state_code = q.state_code
            and d.qualifier in ('', q.qualifier)
        order by d.qualifier desc limit 1
    ) as node_code,
    (
        select d.dialect_code from stepwell.state_dialect as d
        where d.dialect = 'job' and d.scope = q.word_scope and d.state_code = q.state_code
            and d.qualifier in ('', q.qualifier)
        order by d.qualifier desc limit 1
    ) as job_code
from (
    select
        u.tenant_id,
        u.unit_id,
        u.scope,
        u.state_code,
        case when u.scope = 'workflow_run' then u.scope else 'step' end as word_scope,
        case
            when u.scope = 'workflow_run' then stepwell._run_qualifier(u.tenant_id, stepwell._run_of(u.unit_id), u.state_code)
            when u.state_code = 'not_started' then
                case when exists (
                    select from stepwell.workflow_step_relations as r
                    inner join stepwell.work_unit as b
                        on b.tenant_id = u.tenant_id and b.unit_id = u.unit_id + r.from_no - u.def_no
                    where r.tenant_id = u.tenant_id and r.version_id = u.version_id and r.to_no = u.def_no
                        and (
                            b.state_code not in ('not_started', 'ready', 'skipped', 'cancelled')
                            or (b.state_code = 'cancelled' and b.started_at is not null)
                            or stepwell._call_goes_on(b)
                        )
                ) then 'predecessor_started' else '' end
            when u.state_code = 'ready' and u.started_at is not null and u.scope = 'step' and stepwell._call_goes_on(u)
                then 'resumed'
            when u.state_code = 'ready' and u.executor_class_id is null then
                case when exists (
                    select from stepwell.workflow_step_def as d
                    where d.tenant_id = u.tenant_id and d.version_id = u.version_id and d.step_no = u.def_no
                        and d.step_kind = 'conditional'
                ) then 'held' else '' end
            when u.state_code = 'ready' and u.slot_key is not null then
                case when exists (
                    select from stepwell.job_line as l
                    where l.tenant_id = u.tenant_id and l.slot_key = u.slot_key and l.rank = -u.priority
                        and l.unit_id = u.unit_id
                ) then 'held' else '' end
            when u.state_code = 'in_progress' then
                case when exists (
                    select from stepwell.worker_session as s
                    where s.session_id = u.lease_session_id and s.last_tick_at <= u.last_transition_at
                ) then 'leased' else '' end
            when u.state_code = 'waiting' and u.waiting_facet = 'waiting_human' then
                case when exists (
                    select from stepwell.approval_detail as a
                    where a.tenant_id = u.tenant_id and a.subject_unit_id = u.unit_id and a.decided_at is null
                ) then 'approval' else '' end
            when u.state_code = 'failed' and u.failure_class = 'subworkflow_red' then 'transient'
            when u.state_code = 'failed' then coalesce((
                select f.classification from stepwell.unit_failure as f
                where f.tenant_id = u.tenant_id and f.unit_id = u.unit_id
                order by f.lease_no desc, f.failed_at desc limit 1
            ), 'transient')
            else ''
        end as qualifier
    from stepwell.work_unit as u
    where u.scope in ('workflow_run', 'step', 'task', 'job')
) as q;

-- What a reference of a job of a graph names: the value of a param, or itself.
create or replace function stepwell._job_ref(p_ref text, p_ref_params jsonb) returns text
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select case when p_ref like '$.input.%' then p_ref_params ->> substr(p_ref, 9) else p_ref end
$$;

-- Everything that workers execute, under the names of document 001: free-standing jobs and operations of runs. A job of a graph has
-- a safe payload: what it is, of which template, and which params there are, not their values.
create or replace view stepwell.job_queue with (security_invoker = true) as
select
    u.tenant_id,
    u.unit_id as job_id,
    o.operation_name as job_kind,
    o.operation_name as operation,
    c.class_name as executor,
    (
        select d.job_code from stepwell.v_unit_dialect as d
        where d.tenant_id = u.tenant_id and d.unit_id = u.unit_id
    ) as status,
    u.state_code,
    coalesce(j.idempotency_key, case when u.scope = 'step' then (stepwell._run_of(u.unit_id)) || ':' || s.step_id end)
        as idempotency_key,
    coalesce(j.source_ref, stepwell._job_ref(s.config ->> 'source_ref', g.ref_params)) as source_ref,
    coalesce(j.target_ref, stepwell._job_ref(s.config ->> 'target_ref', g.ref_params)) as target_ref,
    coalesce(j.payload_ref, stepwell._job_ref(s.config ->> 'payload_ref', g.ref_params)) as payload_ref,
    coalesce(
        case when g.template_id is not null then jsonb_build_object(
            'local_id', s.step_id, 'template_id', g.template_id, 'params_keys_only', g.params_keys) end, (
            select y.payload from stepwell.v_job_payload as y
            where y.tenant_id = u.tenant_id and y.job_id = u.unit_id
        )) as safe_payload,
    (
        select t.due_at from stepwell.timer as t
        where t.tenant_id = u.tenant_id and t.unit_id = u.unit_id and t.timer_kind = 'start'
    ) as process_after,
    u.priority,
    case when u.scope = 'step' then stepwell._run_of(u.unit_id) end as workflow_id,
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
    stepwell._attempt_no(u.state_code, u.attempt_count, u.started_at) as attempt,
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
    u.last_transition_at,
    (
        select p.progress from stepwell.v_unit_progress as p
        where p.tenant_id = u.tenant_id and p.unit_id = u.unit_id
    ) as progress,
    nullif(stepwell._workspace_of(u.tenant_id, u.unit_id), 0) as workspace_id,
    u.scope,
    case when s.config ->> 'join' = 'any' then 'any' when u.scope = 'step' then 'all' end as parents_join,
    (
        select min(u.unit_id + r.from_no - u.def_no)
        from stepwell.workflow_step_relations as r
        where r.tenant_id = u.tenant_id and r.version_id = u.version_id and r.to_no = u.def_no
    ) as parent_job_id,
    g.template_id
from stepwell.work_unit as u
inner join stepwell.executor_class as c on u.executor_class_id = c.executor_class_id
inner join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
left join stepwell.job_detail as j on u.tenant_id = j.tenant_id and u.unit_id = j.job_id
-- By its key: under row level security no condition that computes may be tried before the tenant, so a join reads all runs.
left join lateral (
    select d.trace_id, d.correlation_id, d.created_at, d.started_by from stepwell.run_detail as d
    where d.tenant_id = u.tenant_id and d.run_id = stepwell._run_of(u.unit_id) offset 0
) as r on true
left join stepwell.workflow_step_def as s
    on u.tenant_id = s.tenant_id and u.version_id = s.version_id and u.def_no = s.step_no
left join stepwell.worker_session as w on u.lease_session_id = w.session_id
left join lateral (
    select d.template_id, d.params_keys, d.ref_params from stepwell.job_workflow_detail as d
    where d.tenant_id = u.tenant_id and d.workflow_id = stepwell._run_of(u.unit_id) offset 0
) as g on true;

-- Heartbeats of each worker session and executor class. A heartbeat is good (last_ok_at) when it was accepted. Executors come from executor_class, which never names the
-- template generator.
create or replace view stepwell.queue_heartbeat with (security_invoker = true) as
select
    s.session_id,
    s.worker_name,
    c.class_name as executor_kind,
    s.slot_count,
    s.started_at,
    s.last_tick_at,
    s.expires_at,
    s.last_ok_at,
    case
        when s.closed_at is not null then 'closed'
        when s.expires_at < stepwell.now() or s.last_tick_at < stepwell.now() - h.threshold then 'silent'
        else 'alive'
    end as status,
    s.closed_at,
    s.info,
    c.class_name as worker_class,
    h.threshold,
    exists (select from stepwell.worker_stop as w
        where w.stop_kind = 'frozen' and (w.worker_name = s.worker_name or w.executor_class_id = c.executor_class_id)) as is_frozen,
    exists (select from stepwell.worker_stop as w where w.stop_kind = 'drain' and w.worker_name = s.worker_name) as is_draining
from stepwell.worker_session as s
cross join lateral unnest(s.executor_class_ids) as k (executor_class_id)
inner join stepwell.executor_class as c on k.executor_class_id = c.executor_class_id
cross join lateral (
    select make_interval(secs => coalesce(
        (select (f.config_value #>> '{}')::float from stepwell.dot_config as f
            where f.config_key = 'heartbeat.threshold.' || c.class_name),
        (select (f.config_value #>> '{}')::float from stepwell.dot_config as f
            where f.config_key = 'heartbeat.threshold.default'), 60))
) as h (threshold);

-- How many units of a tenant and class are leased. It reads the claims of open sessions, which are few, and not the
-- units, which are many. It runs as owner, because a claim may have units of several tenants.
create or replace function stepwell._leased_count(p_tenant_id int, p_executor_class_id int) returns bigint
language sql stable security definer
set search_path = stepwell, pg_temp
as $$
    select count(distinct u.unit_id)
    from stepwell.worker_session as s
    inner join stepwell.worker_lease as l on s.session_id = l.session_id
    cross join lateral unnest(l.tenant_ids, l.unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where s.closed_at is null and q.tenant_id = p_tenant_id
        and u.lease_session_id = s.session_id and u.executor_class_id = p_executor_class_id
        and (p_tenant_id = (select stepwell.read_tenant()) or (select stepwell._acts_for_all()))
$$;

-- The queue of each tenant and executor class in one row: what can start, is in line, runs, waits or died, the age of
-- the oldest claimable job, and which workers serve it.
create or replace view stepwell.v_queue_health with (security_invoker = true) as
select
    t.tenant_id,
    c.class_name as executor,
    coalesce(r.ready_count, 0) as ready_count,
    coalesce(l.line_count, 0) as line_count,
    stepwell._leased_count(t.tenant_id, c.executor_class_id) as leased_count,
    coalesce(x.retry_waiting_count, 0) as retry_waiting_count,
    coalesce(x.asleep_count, 0) + coalesce(p.waiting_count, 0) as parked_count,
    coalesce(x.scheduled_count, 0) as scheduled_count,
    coalesce(d.dead_count, 0) as dead_count,
    r.oldest_ready_at,
    stepwell.now() - r.oldest_ready_at as oldest_ready_age,
    coalesce(w.worker_count, 0) as worker_count,
    coalesce(w.slot_count, 0) as slot_count
from stepwell.tenant as t
cross join stepwell.executor_class as c
left join lateral (
    select count(*) as ready_count, min(u.last_transition_at) as oldest_ready_at
    from stepwell.job_ready as q
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where q.tenant_id = t.tenant_id and q.executor_class_id = c.executor_class_id
) as r on true
left join lateral (
    select count(*) as line_count
    from stepwell.job_line as q
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where q.tenant_id = t.tenant_id and u.executor_class_id = c.executor_class_id
) as l on true
left join lateral (
    select
        count(*) filter (where q.timer_kind = 'start') as scheduled_count,
        count(*) filter (where q.timer_kind = 'retry') as retry_waiting_count,
        count(*) filter (where q.timer_kind = 'sleep') as asleep_count
    from stepwell.timer as q
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where q.tenant_id = t.tenant_id and u.executor_class_id = c.executor_class_id and q.timer_kind in ('start', 'retry', 'sleep')
) as x on true
left join lateral (
    select count(*) as waiting_count
    from stepwell.event_wait as q
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where q.tenant_id = t.tenant_id and u.executor_class_id = c.executor_class_id
) as p on true
left join lateral (
    select count(*) as dead_count
    from stepwell.job_dead_letter as q
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where q.tenant_id = t.tenant_id and u.executor_class_id = c.executor_class_id and q.resolved_at is null
) as d on true
left join lateral (
    select count(*) as worker_count, sum(s.slot_count) as slot_count
    from stepwell.worker_session as s
    where s.closed_at is null and s.expires_at >= stepwell.now() and c.executor_class_id = any (s.executor_class_ids)
) as w on true;
