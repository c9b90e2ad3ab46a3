-- Workers as people see them: one row for each worker, with its heartbeat, what it serves, whether it may claim, and the sentence
-- of the engine about it.

-- Who stopped a worker or an executor, and why. Only the first tenant stops them, so these are words of its people; that
-- something is stopped everybody sees, because workers serve every tenant. It runs as owner and compares the tenant itself.
create or replace function stepwell._stop_told(p_stop_id bigint, out stopped_by text, out reason text)
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
begin
    if p_stop_id is not null and (stepwell.read_tenant() = 1 or stepwell._acts_for_all()) then
        select w.stopped_by, w.reason into stopped_by, reason from stepwell.worker_stop as w where w.stop_id = p_stop_id;
    end if;
end
$$;

-- One row for each session of a worker. status is that of the worst of its executors: alive, silent or closed.
create or replace view stepwell.v_worker with (security_invoker = true) as
select
    s.session_id,
    s.worker_name,
    h.executors,
    h.status,
    s.info ->> 'version' as version,
    s.info ->> 'host' as host,
    s.info ->> 'pid' as pid,
    s.slot_count,
    least(s.held_count, s.slot_count) as slots_in_use,
    s.started_at,
    s.last_tick_at,
    s.last_ok_at,
    s.expires_at,
    s.closed_at,
    h.silent_after_seconds,
    h.frozen_executors,
    f.stopped_at as frozen_at,
    ft.stopped_by as frozen_by,
    ft.reason as frozen_reason,
    d.stopped_at as drain_at,
    dt.stopped_by as drain_by,
    dt.reason as drain_reason,
    d.stop_id is not null and s.closed_at is null and s.held_count = 0 and s.last_ok_at > d.stopped_at as is_drained,
    case when s.handler_ids is not null then array(select n.operation_name from stepwell.handler as n
        where n.handler_id = any (s.handler_ids) and n.operation_name not in ('stepwell.evaluate', 'job_workflow_refresh')
        order by n.operation_name) end as operations
from stepwell.worker_session as s
cross join lateral (
    select array_agg(q.executor_kind order by q.executor_kind) as executors,
        case when bool_or(q.status = 'closed') then 'closed' when bool_or(q.status = 'silent') then 'silent' else 'alive' end as status,
        extract(epoch from min(q.threshold))::int as silent_after_seconds,
        coalesce(array_agg(q.executor_kind order by q.executor_kind) filter (where exists (
            select from stepwell.worker_stop as w inner join stepwell.executor_class as c on w.executor_class_id = c.executor_class_id
            where c.class_name = q.executor_kind)), '{}') as frozen_executors
    from stepwell.queue_heartbeat as q where q.session_id = s.session_id
) as h
left join stepwell.worker_stop as f on f.stop_kind = 'frozen' and s.worker_name = f.worker_name
left join stepwell.worker_stop as d on d.stop_kind = 'drain' and s.worker_name = d.worker_name
cross join lateral stepwell._stop_told(f.stop_id) as ft
cross join lateral stepwell._stop_told(d.stop_id) as dt;

-- One row for each executor: how many workers serve it, and whether it is frozen.
create or replace view stepwell.v_executor with (security_invoker = true) as
select
    c.class_name as executor,
    c.description,
    coalesce(h.alive_count, 0)::int as alive_count,
    coalesce(h.silent_count, 0)::int as silent_count,
    coalesce(h.slot_count, 0)::int as slot_count,
    coalesce(h.slots_in_use, 0)::int as slots_in_use,
    h.last_ok_at,
    (select coalesce(
        (select (f.config_value #>> '{}')::float from stepwell.dot_config as f where f.config_key = 'heartbeat.threshold.' || c.class_name),
        (select (f.config_value #>> '{}')::float from stepwell.dot_config as f where f.config_key = 'heartbeat.threshold.default'), 60))::int
        as silent_after_seconds,
    w.stopped_at as frozen_at,
    wt.stopped_by as frozen_by,
    wt.reason as frozen_reason
from stepwell.executor_class as c
left join stepwell.worker_stop as w on c.executor_class_id = w.executor_class_id
cross join lateral stepwell._stop_told(w.stop_id) as wt
left join lateral (
    select count(*) filter (where q.status = 'alive') as alive_count, count(*) filter (where q.status = 'silent') as silent_count,
        sum(q.slot_count) filter (where q.status = 'alive') as slot_count,
        sum(least(s.held_count, s.slot_count)) filter (where q.status = 'alive') as slots_in_use, max(q.last_ok_at) as last_ok_at
    from stepwell.queue_heartbeat as q
    inner join stepwell.worker_session as s on q.session_id = s.session_id
    where q.closed_at is null and q.executor_kind = c.class_name
) as h on true;

-- Workers with the sentence of the engine about their work for a tenant; null while there is no evidence for one.
create or replace view stepwell.v_worker_said with (security_invoker = true) as
select t.tenant_id, w.*, m.sentence_en, m.sentence_vi, m.colour, m.summary_id
from stepwell.tenant as t
cross join stepwell.v_worker as w
left join stepwell.governance_summary as m
    on t.tenant_id = m.tenant_id and m.subject_kind = 'worker' and m.subject = w.session_id::text and m.summarizer_kind = 'sql_fn';

-- The same for executors.
create or replace view stepwell.v_executor_said with (security_invoker = true) as
select t.tenant_id, x.*, m.sentence_en, m.sentence_vi, m.colour, m.summary_id
from stepwell.tenant as t
cross join stepwell.v_executor as x
left join stepwell.governance_summary as m
    on t.tenant_id = m.tenant_id and m.subject_kind = 'executor' and m.subject = x.executor and m.summarizer_kind = 'sql_fn';

-- The events that a sentence was made from, the newest first: those that its refs name.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when there is no such sentence.
create or replace function stepwell.fn_summary_events(p_tenant_id int, p_summary_id bigint) returns table (
    event_id bigint, at timestamptz, run_id bigint, unit_id bigint, event_type text, to_state text, actor_class text, actor text,
    workflow text, step_id text
)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_refs constant text[] := (select s.source_event_refs from stepwell.governance_summary as s
        where s.tenant_id = p_tenant_id and s.summary_id = p_summary_id);
begin
    if v_refs is null then
        raise exception using errcode = 'SW002', column = 'summary_id', message = format('summary %s does not exist', p_summary_id);
    end if;
    return query
    select t.event_id, t.at, t.run_id, t.unit_id, t.event_type, t.to_state, t.actor_class, t.actor, t.workflow, t.step_id
    from (select split_part(r.ref, ':', 2)::bigint as run_id, split_part(r.ref, ':', 3)::bigint as event_id
        from unnest(v_refs) as r (ref) where r.ref like 'event:%' offset 0) as q
    cross join lateral (
        select x.* from stepwell.vw_audit_event_timeline as x
        where x.tenant_id = p_tenant_id and x.run_id = q.run_id and x.event_id = q.event_id
    ) as t
    order by t.event_id desc;
end
$$;
