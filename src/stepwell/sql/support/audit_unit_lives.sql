-- Units whose columns differ from what their events say: number of the unit, names of the columns. All changes of a unit
-- go through the log, so its row is a summary of its events, in the order of event_id. A unit is compared if the log has
-- its first change; a unit without a change is compared with the start of its run.
with logged as materialized (
    select e.unit_id, e.event_id, e.at, e.request_id, e.event_type, e.from_state, e.to_state, e.actor, e.payload,
        case when e.to_state is not null then row_number() over (partition by e.unit_id, e.to_state is null order by e.event_id)
            end as change_no,
        -- What a unit counted before it was opened again does not count any more.
        max(e.event_id) filter (where e.event_type ~ '\.(replayed|reinstated|reopened_for_correction)$')
            over (partition by e.unit_id) as opened_id,
        max(e.event_id) filter (where e.event_type ~ '\.(replayed|reinstated)$'
            or e.event_type ~ '\.reopened_for_correction$' and e.from_state = 'cannot_complete')
            over (partition by e.unit_id) as cleared_id
    from stepwell.event_log as e
    where e.tenant_id = %(tenant_id)s and e.unit_id is not null and (e.to_state is not null or e.event_type ~ '\.deadline_missed$')
), settled as materialized (
    select s.state_machine_id, s.state_code from stepwell.state_def as s where s.is_terminal or s.state_code = 'cannot_complete'
), life as materialized (
    select l.unit_id, u.scope,
        (array_agg(l.from_state order by l.event_id) filter (where l.change_no = 1))[1] as first_from,
        (array_agg(l.at order by l.event_id desc) filter (where l.to_state is not null))[1] as last_at,
        count(*) filter (where l.to_state = 'in_progress' and l.from_state is distinct from 'overdue') as lease_no,
        (array_agg(l.actor order by l.event_id desc)
            filter (where l.to_state = 'in_progress' and l.from_state is distinct from 'overdue'))[1] as taken_by,
        -- The first by its number: of two sessions, the one that read the clock earlier may change the unit later.
        (array_agg(l.at order by l.event_id) filter (where l.to_state = 'in_progress'
            or l.from_state is null and l.to_state is not null and u.scope <> 'job'))[1] as started_at,
        -- The first completion stays; another end does not when the unit is opened again.
        coalesce((array_agg(l.at order by l.event_id) filter (where l.to_state = 'completed' and u.scope <> 'workflow_run'))[1],
            (array_agg(l.at order by l.event_id) filter (where s.state_code is not null
                and l.event_id > coalesce(l.cleared_id, 0)))[1]) as completed_at,
        count(*) filter (where l.event_id > coalesce(l.opened_id, 0)
            and (l.to_state = 'failed' and l.payload ->> 'failure_class' is distinct from 'subworkflow_red'
                or l.event_type ~ '\.lease_expired$')) as attempt_count,
        (array_agg(l.payload ->> 'failure_class' order by l.event_id desc) filter (where l.to_state = 'failed'))[1] as failure_class,
        (array_agg(l.payload order by l.event_id desc) filter (where l.to_state is not null))[1] as last_payload,
        (array_agg(l.payload order by l.event_id desc)
            filter (where l.to_state = 'completed' and l.payload ? 'completed_after_deadline'))[1] as late_payload,
        (array_agg((l.payload ->> 'sla_breach_duration')::interval order by l.event_id)
            filter (where l.to_state = 'completed' and l.payload ->> 'sla_breach_duration' is not null))[1] as breach,
        (array_agg(l.payload ->> 'deadline_at' order by l.event_id) filter (where l.event_type ~ '\.deadline_missed$'))[1] as missed_at,
        bool_or(l.to_state = 'overdue' or s.state_code is not null and l.at > u.deadline_at) as was_late
    from logged as l
    inner join stepwell.work_unit as u on u.tenant_id = %(tenant_id)s and l.unit_id = u.unit_id
    left join settled as s on u.state_machine_id = s.state_machine_id and l.to_state = s.state_code
    group by l.unit_id, u.scope
), compared as (
    select u.unit_id, array_remove(array[
        case when u.last_transition_at is distinct from l.last_at then 'last_transition_at' end,
        case when u.lease_no is distinct from l.lease_no then 'lease_no' end,
        case when u.lease_session_id is not null and (u.state_code not in ('in_progress', 'overdue')
            or 'session:' || u.lease_session_id is distinct from l.taken_by)
            or u.lease_session_id is null and u.state_code in ('in_progress', 'overdue') and u.operation_id is not null
            and l.taken_by ~ '^session:[0-9]+$' then 'lease_session_id' end,
        case when u.started_at is distinct from l.started_at then 'started_at' end,
        case when u.completed_at is distinct from l.completed_at then 'completed_at' end,
        case when u.attempt_count is distinct from l.attempt_count then 'attempt_count' end,
        case when u.failure_class is distinct from l.failure_class then 'failure_class' end,
        case when u.waiting_facet is distinct from case u.state_code when 'waiting' then l.last_payload ->> 'waiting_facet'
            when 'blocked' then case l.last_payload ->> 'waiting_facet' when 'waiting_dependency' then 'waiting_dependency' end end
            then 'waiting_facet' end,
        case when u.waiting_facets is distinct from case when u.state_code = 'waiting' then array(
            select jsonb_array_elements_text(l.last_payload -> 'waiting_facets')) end then 'waiting_facets' end,
        case when u.completed_after_deadline is distinct from (l.late_payload is not null) then 'completed_after_deadline' end,
        case when u.sla_breach_duration is distinct from l.breach then 'sla_breach_duration' end,
        case when l.late_payload is not null
            then case when u.overdue_first_at is distinct from (l.late_payload ->> 'overdue_first_at')::timestamptz then 'overdue_first_at' end
            when l.missed_at is not null
            then case when u.overdue_first_at is distinct from l.missed_at::timestamptz then 'overdue_first_at' end
            when (u.overdue_first_at is not null) is distinct from coalesce(l.was_late, false)
                or u.overdue_first_at > l.last_at then 'overdue_first_at' end
    ], null) as names
    from stepwell.work_unit as u
    inner join life as l on u.unit_id = l.unit_id
    where u.tenant_id = %(tenant_id)s and (l.first_from is null or l.first_from = 'not_started')
    union all
    -- A step that has not begun: as its run made it.
    select u.unit_id, array_remove(array[
        case when u.last_transition_at is distinct from r.created_at and u.unit_id & 1048575 = u.def_no
            and u.last_transition_at is distinct from b.last_at then 'last_transition_at' end,
        case when u.lease_no is distinct from 0 then 'lease_no' end,
        case when u.lease_session_id is not null then 'lease_session_id' end,
        case when u.started_at is not null then 'started_at' end,
        case when u.completed_at is not null then 'completed_at' end,
        case when u.attempt_count is distinct from 0 then 'attempt_count' end,
        case when u.failure_class is not null then 'failure_class' end,
        case when u.waiting_facet is not null then 'waiting_facet' end,
        case when u.waiting_facets is not null then 'waiting_facets' end,
        case when u.completed_after_deadline is distinct from false then 'completed_after_deadline' end,
        case when u.sla_breach_duration is not null then 'sla_breach_duration' end,
        case when u.overdue_first_at is not null then 'overdue_first_at' end
    ], null)
    from stepwell.work_unit as u
    left join stepwell.run_detail as r on u.tenant_id = r.tenant_id and u.unit_id >> 20 = r.run_id
    left join lateral (
        select min(l.at) as last_at from logged as l where l.unit_id = (u.unit_id >> 20) << 20 and l.to_state is not null
    ) as b on true
    where u.tenant_id = %(tenant_id)s and u.scope in ('step', 'task') and u.state_code = 'not_started'
        and not exists (select from life as l where l.unit_id = u.unit_id)
        -- The start of a run of an archived month is no longer in the log.
        and not coalesce(to_char(r.created_at at time zone 'UTC', 'YYYY-MM') = any (%(archived)s), false)
)
select c.unit_id, c.names from compared as c where c.names <> '{}' order by c.unit_id limit %(limit)s
