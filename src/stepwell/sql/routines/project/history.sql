-- What happened: the states of units over time, events with names, the state of a run at an earlier time.

-- Every state that every unit had, from events alone: which state, from when to when, by which event, by whom. A unit
-- without an event of its creation (a step) has its first state since its run started.
create or replace view stepwell.step_run_state_history with (security_invoker = true) as
with change as (
    select
        e.tenant_id, e.run_id, e.unit_id, e.event_id, e.at, e.event_type, e.from_state, e.to_state, e.request_id,
        e.actor_class, e.actor, e.audit_ref,
        row_number() over (partition by e.tenant_id, e.run_id, e.unit_id order by e.event_id) as change_no
    from stepwell.event_log as e
    where e.to_state is not null
), visit as (
    select
        c.tenant_id, c.run_id, c.unit_id, 0 as change_no, c.from_state as state_code, s.at as entered_at,
        s.event_id as entry_event_id, s.event_type as entry_event_type, null::int as request_id,
        s.actor_class, s.actor, s.audit_ref
    from change as c
    left join lateral (
        select b.event_id, b.at, b.event_type, b.actor_class, b.actor, b.audit_ref
        from stepwell.event_log as b
        where b.tenant_id = c.tenant_id and b.run_id = c.run_id and b.event_type = 'workflow.started'
        order by b.event_id limit 1
    ) as s on true
    where c.change_no = 1 and c.from_state is not null
    union all
    select
        c.tenant_id, c.run_id, c.unit_id, c.change_no, c.to_state, c.at, c.event_id, c.event_type, c.request_id,
        c.actor_class, c.actor, c.audit_ref
    from change as c
)
select
    v.tenant_id,
    v.run_id as run_id,
    v.unit_id as step_run_id,
    row_number() over (partition by v.tenant_id, v.run_id, v.unit_id order by v.change_no) as visit_no,
    v.state_code,
    v.entered_at,
    lead(v.entered_at) over (partition by v.tenant_id, v.run_id, v.unit_id order by v.change_no) as left_at,
    v.entry_event_id,
    v.entry_event_type,
    v.request_id,
    v.actor_class,
    v.actor,
    v.audit_ref
from visit as v;

-- The event log for readers: every event with the names of its run, step and workflow. Filter by trace_id,
-- correlation_id or run_id.
create or replace view stepwell.vw_audit_event_timeline with (security_invoker = true) as
select
    e.tenant_id,
    e.event_id,
    e.tx,
    e.at,
    e.event_type,
    t.description,
    e.run_id as run_id,
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
    -- Events of one run belong together, also when nobody gave it a correlation.
    coalesce(e.correlation_id, r.correlation_id, j.correlation_id, 'run:' || e.run_id) as correlation_id,
    e.payload,
    u.item_no
from stepwell.event_log as e
left join stepwell.event_type_registry as t on e.event_type = t.event_type
left join stepwell.work_unit as u on e.tenant_id = u.tenant_id and e.unit_id = u.unit_id
left join stepwell.run_detail as r on e.tenant_id = r.tenant_id and e.run_id = r.run_id
left join stepwell.job_detail as j on e.tenant_id = j.tenant_id and e.unit_id = j.job_id
left join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
left join stepwell.workflow_step_def as d
    on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no;

-- The state of a run and of each of its units after an event, or at a time, computed from the log alone.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW001 when neither a position nor a time is given; SW002 when there is no such run; SW007 when the
--   caller may not read, or for another tenant.
create or replace function stepwell.fn_run_state_at(
    p_tenant_id int, p_run_id bigint, p_event_id bigint default null, p_at timestamptz default null
) returns table (unit_id bigint, scope text, step_id text, item_no int, state_code text, since_at timestamptz, event_id bigint)
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_hidden bigint[];
begin
    perform stepwell._verb_check(p_tenant_id, 'read');
    v_hidden := stepwell.hidden_steps();
    if p_event_id is null and p_at is null then
        raise exception using errcode = 'SW001', message = 'at: a position in the log or a time is required';
    end if;
    if not exists (select from stepwell.run_detail as r where r.tenant_id = p_tenant_id and r.run_id = p_run_id) then
        raise exception using errcode = 'SW002', message = format('run %s does not exist', p_run_id);
    end if;
    return query
    with past as (
        select distinct on (e.unit_id) e.unit_id, e.to_state, e.at, e.event_id
        from stepwell.event_log as e
        where e.tenant_id = p_tenant_id and e.run_id = p_run_id and e.to_state is not null
            and (p_event_id is null or e.event_id <= p_event_id) and (p_at is null or e.at <= p_at)
        order by e.unit_id, e.event_id desc
    )
    select u.unit_id, u.scope, d.step_id, u.item_no, coalesce(p.to_state, 'not_started'), coalesce(p.at, r.created_at), p.event_id
    from stepwell.run_detail as r
    inner join stepwell.work_unit as u
        on r.tenant_id = u.tenant_id and u.unit_id between stepwell._run_unit(r.run_id) and stepwell._run_last(r.run_id)
    left join stepwell.workflow_step_def as d
        on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    left join past as p on u.unit_id = p.unit_id
    where r.tenant_id = p_tenant_id and r.run_id = p_run_id
        and (v_hidden = '{}' or stepwell.unit_is_shown(u.tenant_id, u.unit_id, v_hidden))
        -- Steps of the items of a Map exist since the Map began.
        and (u.item_no is null or p.unit_id is not null or exists (
            select from past as m where m.unit_id = u.parent_id and m.to_state not in ('not_started', 'ready')))
    order by u.unit_id;
end
$$;
