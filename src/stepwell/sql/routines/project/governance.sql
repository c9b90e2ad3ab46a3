-- What is wrong, by category: counts, and the subjects behind each count. Every subject has the run, unit or trace by which its
-- events are found; nothing here shows a raw log.

-- How far back the counts look.
create or replace function stepwell._governance_since() returns timestamptz
language sql stable
set search_path = stepwell, pg_temp
as $$
    select stepwell.now() - make_interval(hours => stepwell._limit('governance.window_hours'))
$$;

-- Dead letters of each tenant by class of failure: all that nobody settled, and those that died in the window.
create or replace view stepwell.vw_governance_dlq_count with (security_invoker = true) as
select
    d.tenant_id,
    d.failure_class,
    count(*) filter (where d.resolved_at is null) as open_count,
    count(*) filter (where d.died_at >= stepwell._governance_since()) as window_count,
    min(d.died_at) filter (where d.resolved_at is null) as oldest_at,
    max(d.died_at) as newest_at
from stepwell.job_dead_letter as d
group by d.tenant_id, d.failure_class;

-- Dead letters that nobody settled.
create or replace view stepwell.vw_governance_dead_letters with (security_invoker = true) as
select
    d.tenant_id,
    'dead_letter'::text as category_code,
    d.unit_id::text as subject_key,
    coalesce(s.step_id, o.operation_name) as subject,
    d.died_at as since_at,
    n.run_id,
    d.unit_id,
    coalesce(r.trace_id, j.trace_id) as trace_id,
    concat_ws(': ', d.failure_class, coalesce(d.error ->> 'message', d.error ->> 'type')) as reason
from stepwell.job_dead_letter as d
inner join stepwell.work_unit as u on d.tenant_id = u.tenant_id and d.unit_id = u.unit_id
left join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
left join stepwell.workflow_step_def as s
    on u.tenant_id = s.tenant_id and u.version_id = s.version_id and u.def_no = s.step_no
-- Row level security lets no function of another row into an index; a number that is computed apart is a plain value.
cross join lateral (select stepwell._run_of(d.unit_id) as run_id offset 0) as n
left join stepwell.run_detail as r on d.tenant_id = r.tenant_id and n.run_id = r.run_id
left join stepwell.job_detail as j on d.tenant_id = j.tenant_id and d.unit_id = j.job_id
where d.resolved_at is null;

-- Workers that should send heartbeats and do not, for each class that they serve. Workers serve all tenants.
create or replace view stepwell.vw_governance_silent_workers with (security_invoker = true) as
select
    t.tenant_id,
    'silent_worker'::text as category_code,
    h.session_id || ':' || h.executor_kind as subject_key,
    h.worker_name as subject,
    h.last_tick_at as since_at,
    null::bigint as run_id,
    null::bigint as unit_id,
    null::text as trace_id,
    format('no heartbeat for %s seconds, class %s', extract(epoch from stepwell.now() - h.last_tick_at)::bigint, h.executor_kind) as reason
from stepwell.tenant as t
cross join stepwell.queue_heartbeat as h
where h.status = 'silent';

-- Steps that have not ended and are past their deadline, in any state: also those that nobody has claimed yet. Timers that are
-- due and have not fired are seen too.
create or replace view stepwell.vw_governance_overdue with (security_invoker = true) as
select
    u.tenant_id,
    'overdue_step'::text as category_code,
    u.unit_id::text as subject_key,
    s.step_id as subject,
    u.deadline_at as since_at,
    n.run_id,
    u.unit_id,
    r.trace_id,
    concat_ws(', ', u.state_code, stepwell._person_name(u.tenant_id, u.pic_id)) as reason,
    u.state_code,
    u.deadline_at
from (
    select m.tenant_id, m.unit_id from stepwell.work_unit as m where m.overdue_first_at is not null
    union
    select t.tenant_id, t.unit_id from stepwell.timer as t where t.timer_kind = 'deadline' and t.due_at < stepwell.now()
) as q
inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
inner join stepwell.workflow_step_def as s
    on u.tenant_id = s.tenant_id and u.version_id = s.version_id and u.def_no = s.step_no
cross join lateral (select stepwell._run_of(u.unit_id) as run_id offset 0) as n
inner join stepwell.run_detail as r on u.tenant_id = r.tenant_id and n.run_id = r.run_id
where u.scope = 'step' and u.deadline_at < stepwell.now() and not stepwell._has_ended(u.state_code);

-- Events that the registry refused in the window.
create or replace view stepwell.vw_governance_schema_violations with (security_invoker = true) as
select
    a.tenant_id,
    'schema_violation'::text as category_code,
    a.audit_id::text as subject_key,
    a.event_type as subject,
    a.rejected_at as since_at,
    nullif(n.run_id, 0) as run_id,
    nullif(a.unit_id, 0) as unit_id,
    coalesce(r.trace_id, j.trace_id) as trace_id,
    array_to_string(a.problems, '; ') || case when a.reject_count > 1 then format(' (%s times)', a.reject_count) else '' end as reason
from stepwell.event_validation_audit as a
cross join lateral (select stepwell._run_of(a.unit_id) as run_id offset 0) as n
left join stepwell.run_detail as r on a.tenant_id = r.tenant_id and n.run_id = r.run_id
left join stepwell.job_detail as j on a.tenant_id = j.tenant_id and a.unit_id = j.job_id
where a.rejected_at >= stepwell._governance_since();

-- Since when the first event waits that a reader has not taken; null when it has them all. Row level security keeps positions
-- out of the index of the log, so it runs as owner.
create or replace function stepwell._reader_waits_since(p_tenant_id int, p_last_tx xid8, p_last_event_id bigint) returns timestamptz
language sql stable security definer
set search_path = stepwell, pg_temp
as $$
    select e.at from stepwell.event_log as e
    where e.tenant_id = p_tenant_id and (e.tx, e.event_id) > (p_last_tx, p_last_event_id)
        and (p_tenant_id = (select stepwell.read_tenant()) or (select stepwell._acts_for_all()))
    order by e.tx, e.event_id limit 1
$$;

-- Consumers that keep a position in the log.
create or replace view stepwell.v_event_lag_position with (security_invoker = true) as
select r.tenant_id, 'log'::text as producer, 'reader:' || r.reader_name as consumer, r.reader_name as subject_key, r.last_tx, r.last_event_id
from stepwell.event_reader as r
union all
select r.tenant_id, 'log', 'route:' || r.route_name, 'route:' || r.route_name, r.last_tx, r.last_event_id
from stepwell.event_route as r;

-- Readers and routes of the log for which an event waits longer than their threshold (event_lag.threshold.p99, or that of the pair).
create or replace view stepwell.vw_governance_event_lag with (security_invoker = true) as
select
    r.tenant_id,
    'event_lag'::text as category_code,
    r.subject_key,
    r.subject_key as subject,
    w.waits_since as since_at,
    null::bigint as run_id,
    null::bigint as unit_id,
    null::text as trace_id,
    format('an event waits for %s seconds; at most %s are accepted', extract(epoch from stepwell.now() - w.waits_since)::bigint,
        w.threshold_ms / 1000.0::real) as reason,
    stepwell.now() - w.waits_since as lag
from stepwell.v_event_lag_position as r
cross join lateral (
    select stepwell._reader_waits_since(r.tenant_id, r.last_tx, r.last_event_id) as waits_since,
        stepwell._lag_threshold(r.producer, r.consumer, 'p99') as threshold_ms
) as w
where w.waits_since < stepwell.now() - make_interval(secs => w.threshold_ms / 1000.0);

-- Content that does not agree with what it was made from, in the window.
create or replace view stepwell.vw_governance_integrity_warnings with (security_invoker = true) as
select
    i.tenant_id,
    'integrity_warning'::text as category_code,
    i.entry_id::text as subject_key,
    i.iu_code as subject,
    i.written_at as since_at,
    stepwell._run_of(i.cut_request_id) as run_id,
    i.cut_request_id as unit_id,
    null::text as trace_id,
    concat_ws(': ', i.what, i.detail) as reason
from stepwell.iu_lifecycle_log as i
where (i.severity = 'warning' or i.axis_inconsistency) and i.written_at >= stepwell._governance_since();

-- Open problems of every category. A job, and a request to cut, belongs to no run.
create or replace view stepwell.vw_governance_problems with (security_invoker = true) as
select
    p.tenant_id,
    p.category_code,
    p.problem_id::text as subject_key,
    coalesce(p.title, concat_ws(' ', p.duty, p.subject)) as subject,
    p.since_at,
    r.run_id,
    nullif(p.unit_id, 0) as unit_id,
    coalesce(r.trace_id, j.trace_id) as trace_id,
    p.reason,
    w.workflow_name as workflow,
    -- The key of a sub-workflow is a number of the engine.
    case when r.parent_unit_id is null then r.trigger_ref end as trigger_ref,
    stepwell._problem_remedy(p.category_code, p.subject) as remedy_key,
    -- What has no run has the acts of the worker, or the events of its kind.
    case when p.category_code = 'silent_worker' then 'session:' || split_part(p.subject, ':', 1) end as actor,
    case when p.category_code = 'event_lag' then 'event_lag.breached' end as event_type
from stepwell.governance_problem as p
cross join lateral (select stepwell._run_of(p.unit_id) as run_id offset 0) as n
left join stepwell.run_detail as r on p.tenant_id = r.tenant_id and n.run_id = r.run_id
left join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
left join stepwell.job_detail as j on p.tenant_id = j.tenant_id and p.unit_id = j.job_id
where p.closed_at is null;

-- Steps of content that could not be cut.
create or replace view stepwell.vw_governance_failed_cuts with (security_invoker = true) as
select v.* from stepwell.vw_governance_problems as v where v.category_code = 'failed_cut';

-- Open runs that nothing can move.
create or replace view stepwell.vw_governance_orphans with (security_invoker = true) as
select v.* from stepwell.vw_governance_problems as v where v.category_code = 'orphan_workflow';

-- One row for each category, also for those with nothing wrong: how many problems are open, since when the oldest, what the last
-- day opened and closed, the hours of that day, and what closed the last one. The counts are kept, not counted here.
create or replace view stepwell.vw_governance_counts with (security_invoker = true) as
select
    t.tenant_id,
    c.category_code,
    c.severity,
    coalesce(n.open_count, 0)::bigint as subject_count,
    o.oldest_at,
    (select x.text_value from stepwell.i18n_text as x where x.text_key = c.ui_label_i18n_key and x.lang = 'en') as label_en,
    (select x.text_value from stepwell.i18n_text as x where x.text_key = c.ui_label_i18n_key and x.lang = 'vi') as label_vi,
    (select x.text_value from stepwell.i18n_text as x where x.text_key = c.remedy_i18n_key and x.lang = 'en') as remedy_en,
    (select x.text_value from stepwell.i18n_text as x where x.text_key = c.remedy_i18n_key and x.lang = 'vi') as remedy_vi,
    h.opened_count,
    h.closed_count,
    h.hours,
    z.closed_at,
    z.closed_by,
    z.closed_event_id,
    o.newest_reason,
    o.newest_title
from stepwell.tenant as t
cross join stepwell.governance_category as c
left join stepwell.governance_count as n on t.tenant_id = n.tenant_id and c.category_code = n.category_code
left join lateral (
    select min(p.since_at) as oldest_at, (
        select q.reason from stepwell.governance_problem as q
        where q.tenant_id = t.tenant_id and q.category_code = c.category_code and q.closed_at is null
        order by q.since_at desc, q.problem_id desc limit 1) as newest_reason, (
        select coalesce(q.title, q.subject) from stepwell.governance_problem as q
        where q.tenant_id = t.tenant_id and q.category_code = c.category_code and q.closed_at is null
        order by q.since_at desc, q.problem_id desc limit 1) as newest_title
    from (select q.since_at from stepwell.governance_problem as q
        where q.tenant_id = t.tenant_id and q.category_code = c.category_code and q.closed_at is null
        order by q.since_at, q.problem_id limit 1) as p
) as o on n.open_count > 0
cross join lateral (
    select coalesce(sum(g.opened_count), 0) as opened_count, coalesce(sum(g.closed_count), 0) as closed_count,
        coalesce(jsonb_agg(jsonb_build_object('at', g.hour_at, 'open', g.open_count) order by g.hour_at), '[]') as hours
    from stepwell.governance_trend as g
    where g.tenant_id = t.tenant_id and g.category_code = c.category_code and g.hour_at > stepwell.now() - interval '24 hours'
) as h
left join lateral (
    select p.closed_at, p.closed_by, p.closed_event_id from stepwell.governance_problem as p
    where p.tenant_id = t.tenant_id and p.category_code = c.category_code and p.closed_at is not null
    order by p.closed_at desc limit 1
) as z on true;

-- The subjects of a category, the newest first, below the last one of the page before.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when there is no such category.
create or replace function stepwell.fn_governance_read(
    p_tenant_id int, p_category text, p_before_at timestamptz default null, p_before_key text default null, p_limit int default 50
) returns table (
    subject_key text, subject text, since_at timestamptz, run_id bigint, unit_id bigint, trace_id text, reason text, workflow text,
    trigger_ref text, remedy_en text, remedy_vi text, actor text, event_type text
)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    if not exists (select from stepwell.governance_category as c where c.category_code = p_category) then
        raise exception using errcode = 'SW002', column = 'category', message = format('category %s does not exist', p_category),
            hint = 'one of ' || (select string_agg(c.category_code, ', ' order by c.category_code) from stepwell.governance_category as c);
    end if;
    return query
    select v.subject_key, v.subject, v.since_at, v.run_id, v.unit_id, v.trace_id, v.reason, v.workflow, v.trigger_ref,
        (select t.text_value from stepwell.i18n_text as t where t.text_key = v.remedy_key and t.lang = 'en'),
        (select t.text_value from stepwell.i18n_text as t where t.text_key = v.remedy_key and t.lang = 'vi'),
        v.actor, v.event_type
    from stepwell.vw_governance_problems as v
    where v.tenant_id = p_tenant_id and v.category_code = p_category
        and (p_before_at is null or (v.since_at, v.subject_key) < (p_before_at, p_before_key))
    order by v.since_at desc, v.subject_key desc
    limit p_limit;
end
$$;

-- The events of a trace, a run or a unit, the newest first, below p_before. A trace has the events of its runs and jobs, of the
-- approvals and receipts of these, and those that carry it themselves.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW001 for a trace that is none.
create or replace function stepwell.fn_events_trace(
    p_tenant_id int, p_trace_id text default null, p_run_id bigint default null, p_unit_id bigint default null,
    p_types text[] default null, p_actor text default null, p_from timestamptz default null, p_until timestamptz default null,
    p_before bigint default null, p_limit int default 50
) returns table (
    tx bigint, event_id bigint, at timestamptz, run_id bigint, unit_id bigint, event_type text, from_state text, to_state text,
    actor_class text, actor text, audit_ref text, payload jsonb, workflow text, step_id text, trace_id text, correlation_id text
)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_numbers bigint[];
    v_ids bigint[];
begin
    if p_trace_id !~ '^[0-9a-f]{32}$' then
        raise exception using errcode = 'SW001', column = 'trace', message = 'trace: must be 32 lowercase hex digits (W3C trace context)';
    end if;
    v_numbers := case
        when p_trace_id is not null then array(
            select r.run_id from stepwell.run_detail as r where r.tenant_id = p_tenant_id and r.trace_id = p_trace_id
            union
            select stepwell._run_of(j.job_id) from stepwell.job_detail as j where j.tenant_id = p_tenant_id and j.trace_id = p_trace_id)
        when p_run_id is not null then array[p_run_id] else array[stepwell._run_of(p_unit_id)] end;
    if p_unit_id is null then
        v_numbers := array(
            select unnest(v_numbers)
            union
            select stepwell._run_of(a.receipt_id) from stepwell.action_receipt as a
            where a.tenant_id = p_tenant_id and a.run_id = any (v_numbers)
            union
            select stepwell._run_of(a.approval_id) from (
                select stepwell._run_unit(q.run_id) as first_id, stepwell._run_last(q.run_id) as last_id
                from unnest(v_numbers) as q (run_id) offset 0
            ) as n
            inner join stepwell.approval_detail as a on a.tenant_id = p_tenant_id and a.subject_unit_id between n.first_id and n.last_id);
    end if;
    v_ids := array(
        select f.event_id from (
            select e.event_id from unnest(v_numbers) as n (run_id)
            cross join lateral (
                select x.event_id from stepwell.event_log as x
                where x.tenant_id = p_tenant_id and x.run_id = n.run_id and (p_before is null or x.event_id < p_before)
                    and (p_unit_id is null or x.unit_id = p_unit_id) and (p_run_id is null or p_trace_id is null or x.run_id = p_run_id)
                    and (p_types is null or x.event_type = any (p_types)) and (p_actor is null or x.actor = p_actor)
                    and (p_from is null or x.at >= p_from) and (p_until is null or x.at < p_until)
                order by x.event_id desc limit p_limit
            ) as e
            union
            select e.event_id from (
                select x.event_id from stepwell.event_log as x
                where x.tenant_id = p_tenant_id and x.trace_id = p_trace_id and (p_before is null or x.event_id < p_before)
                    and (p_unit_id is null or x.unit_id = p_unit_id) and (p_run_id is null or x.run_id = p_run_id)
                    and (p_types is null or x.event_type = any (p_types)) and (p_actor is null or x.actor = p_actor)
                    and (p_from is null or x.at >= p_from) and (p_until is null or x.at < p_until)
                order by x.event_id desc limit p_limit
            ) as e
        ) as f
        order by f.event_id desc limit p_limit);
    return query
    select t.tx::text::bigint, t.event_id, t.at, t.run_id, t.unit_id, t.event_type, t.from_state, t.to_state, t.actor_class, t.actor,
        t.audit_ref, t.payload, t.workflow, t.step_id, t.trace_id, t.correlation_id
    from stepwell.vw_audit_event_timeline as t
    where t.tenant_id = p_tenant_id and t.event_id = any (v_ids)
        and t.run_id = any (array(select unnest(v_numbers)
            union select x.run_id from stepwell.event_log as x where x.tenant_id = p_tenant_id and x.trace_id = p_trace_id
                and x.event_id = any (v_ids)))
    order by t.event_id desc;
end
$$;

-- Events for people, the newest first, with the names of run and step. There is no raw log: a trace, a run, a unit, an actor or
-- types that are not written by every step are required. The position p_before_* is that of the last row of the page before; a
-- last row without an event_type is only a position (fn_events_recent).
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW001 when nothing narrows it; as fn_events_trace and fn_events_recent.
create or replace function stepwell.fn_events_find(
    p_tenant_id int, p_trace_id text, p_run_id bigint, p_unit_id bigint, p_types text[], p_actor text, p_from timestamptz,
    p_until timestamptz, p_before_tx bigint, p_before_event_id bigint, p_limit int
) returns table (
    tx bigint, event_id bigint, at timestamptz, run_id bigint, unit_id bigint, event_type text, from_state text, to_state text,
    actor_class text, actor text, audit_ref text, payload jsonb, workflow text, step_id text, trace_id text, correlation_id text
)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    if coalesce(p_trace_id, p_run_id::text, p_unit_id::text) is not null then
        return query select * from stepwell.fn_events_trace(p_tenant_id, p_trace_id, p_run_id, p_unit_id, p_types, p_actor, p_from,
            p_until, p_before_event_id, p_limit);
        return;
    end if;
    if p_actor is null and (coalesce(cardinality(p_types), 0) = 0 or p_types && stepwell._routine_event_types()) then
        raise exception using errcode = 'SW001', column = 'trace',
            message = 'trace: the log is read by trace, run, unit, actor, or types that not every step writes',
            hint = 'give trace=<32 hex digits>, run=<number>, unit=<number>, actor=<name> or type=approval.granted';
    end if;
    return query
    select f.tx, f.event_id, f.at, f.run_id, f.unit_id, f.event_type, f.from_state, f.to_state, f.actor_class, f.actor, f.audit_ref,
        f.payload, t.workflow, t.step_id, t.trace_id, t.correlation_id
    from stepwell.fn_events_recent(p_tenant_id, p_types, p_actor, p_from, p_until, p_before_tx, p_before_event_id, p_limit) as f
    left join lateral (
        select x.workflow, x.step_id, x.trace_id, x.correlation_id from stepwell.vw_audit_event_timeline as x
        where x.tenant_id = p_tenant_id and x.run_id = f.run_id and x.event_id = f.event_id
    ) as t on true
    order by f.tx desc, f.event_id desc;
end
$$;
