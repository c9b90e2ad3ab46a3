-- Every visit of every state, from events alone: which state, from when to when, by which event, by whom.
-- A unit that was born without an event of its own (a step) began its first state when its run started.
create or replace view stepwell.step_run_state_history with (security_invoker = true) as
with change as (
    select
        e.tenant_id, e.stream_id, e.unit_id, e.event_id, e.at, e.event_type, e.from_state, e.to_state, e.request_id,
        e.actor_class, e.actor, e.audit_ref,
        row_number() over (partition by e.tenant_id, e.stream_id, e.unit_id order by e.event_id) as change_no
    from stepwell.event_log as e
    where e.to_state is not null
), visit as (
    select
        c.tenant_id, c.stream_id, c.unit_id, 0 as change_no, c.from_state as state_code, s.at as entered_at,
        s.event_id as entry_event_id, s.event_type as entry_event_type, null::int as request_id,
        s.actor_class, s.actor, s.audit_ref
    from change as c
    left join lateral (
        select b.event_id, b.at, b.event_type, b.actor_class, b.actor, b.audit_ref
        from stepwell.event_log as b
        where b.tenant_id = c.tenant_id and b.stream_id = c.stream_id and b.event_type = 'workflow.started'
        order by b.event_id limit 1
    ) as s on true
    where c.change_no = 1 and c.from_state is not null
    union all
    select
        c.tenant_id, c.stream_id, c.unit_id, c.change_no, c.to_state, c.at, c.event_id, c.event_type, c.request_id,
        c.actor_class, c.actor, c.audit_ref
    from change as c
)
select
    v.tenant_id,
    v.stream_id as run_id,
    v.unit_id as step_run_id,
    row_number() over (partition by v.tenant_id, v.stream_id, v.unit_id order by v.change_no) as visit_no,
    v.state_code,
    v.entered_at,
    lead(v.entered_at) over (partition by v.tenant_id, v.stream_id, v.unit_id order by v.change_no) as left_at,
    v.entry_event_id,
    v.entry_event_type,
    v.request_id,
    v.actor_class,
    v.actor,
    v.audit_ref
from visit as v;
