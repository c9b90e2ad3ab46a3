-- Units whose person in charge or deadline differs from what the log and the definition say: number of the unit, names of
-- the columns. The last event about it counts, else the definition. Two deadlines cannot be computed again: one in working
-- hours, whose calendar may have changed, and one that began when a person took the step or when it was opened again. Of
-- those only the presence is compared.
with told as materialized (
    select e.unit_id,
        (array_agg(coalesce(e.payload ->> 'pic', '') order by e.event_id desc) filter (where e.event_type ~ '\.pic_changed$'))[1] as pic,
        -- A hold takes the deadline away, and gives it back later by as long as it stood still. A step that is opened again may
        -- have a new one.
        (array_agg(case when e.event_type = 'clock.stopped' then 'none' when e.event_type = 'clock.moved' then e.payload ->> 'deadline_to'
            when e.event_type ~ '\.deadline_changed$' then e.payload ->> 'deadline_at' else 'new' end order by e.event_id desc)
            filter (where e.event_type ~ '\.(deadline_changed|reopened_for_correction)$'
                or e.event_type = 'clock.stopped' and e.payload ? 'deadline_at'
                or e.event_type = 'clock.moved' and e.payload ? 'deadline_to'))[1] as deadline,
        (array_agg(e.event_type order by e.event_id desc) filter (where e.event_type ~ '^clock\.'))[1] = 'clock.stopped' as is_held,
        bool_or(e.event_type ~ '\.deadline_changed$') as was_changed,
        bool_or(e.event_type ~ '\.deadline_changed$|^clock\.' and e.payload ?| array['deadline_at', 'deadline_to']) as has_told,
        (array_agg(e.at order by e.event_id) filter (where e.to_state = 'ready'))[1] as ready_at,
        bool_or(e.to_state in ('in_progress', 'overdue')) as has_begun,
        bool_or(e.event_type ~ '\.reopened_for_correction$') as was_reopened
    from stepwell.event_log as e
    where e.tenant_id = %(tenant_id)s and e.unit_id is not null
        and (e.to_state is not null or e.event_type ~ '\.(pic_changed|deadline_changed)$|^clock\.(stopped|moved)$')
    group by e.unit_id
), asked as (
    select u.unit_id, u.pic_id, u.deadline_at, u.has_deadline, u.state_code, e.pic, e.deadline, e.ready_at, a.expires_at,
        coalesce(e.is_held, false) as is_held, coalesce(e.was_changed, false) as was_changed, coalesce(e.has_told, false) as has_told,
        coalesce(e.was_reopened, false) as was_reopened, coalesce(e.has_begun, false) as has_begun, d.has_deadline as def_deadline,
        coalesce(t.assignee, d.config ->> 'assignee') as assignee, d.step_kind,
        case when t.unit_id is null then d.config end as config, coalesce(p.principal_name, '') as person_name, p.name_key
    from stepwell.work_unit as u
    left join told as e on u.unit_id = e.unit_id
    left join stepwell.workflow_step_def as d on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    left join stepwell.task_detail as t on u.tenant_id = t.tenant_id and u.unit_id = t.unit_id
    left join stepwell.approval_detail as a on u.tenant_id = a.tenant_id and u.unit_id = a.approval_id
    left join stepwell.principal as p on u.tenant_id = p.tenant_id and u.pic_id = p.principal_id and p.kind = 'person'
    left join stepwell.run_detail as r on u.tenant_id = r.tenant_id and u.unit_id >> 20 = r.run_id
    -- What was said about a step of a run of an archived month may be gone from the log.
    where u.tenant_id = %(tenant_id)s and not coalesce(to_char(r.created_at at time zone 'UTC', 'YYYY-MM') = any (%(archived)s), false)
), compared as (
    select a.unit_id, array_remove(array[
        case when case when a.pic is not null then a.person_name <> a.pic
                when a.assignee is null then a.pic_id is not null
                else a.pic_id is not null and a.assignee ~ '^[ -~]*$' and a.name_key is distinct from lower(btrim(a.assignee)) end then 'pic_id' end,
        case when a.expires_at is not null then case when a.deadline_at is distinct from a.expires_at then 'deadline_at' end
            when a.deadline <> 'new'
            then case when a.deadline_at is distinct from nullif(a.deadline, 'none')::timestamptz then 'deadline_at' end
            when not coalesce(a.config ? 'deadline' or a.config ? 'due_at', false)
            then case when a.deadline_at is not null and not a.has_told then 'deadline_at' end
            when a.ready_at is null then case when a.deadline_at is not null and not a.was_reopened then 'deadline_at' end
            when a.was_reopened or a.config ->> 'deadline_from' = 'start'
            then case when a.has_begun and a.deadline_at is null and not a.is_held then 'deadline_at' end
            when a.config ? 'due_at' and a.step_kind = 'human'
            then case when a.deadline_at is distinct from (a.config ->> 'due_at')::timestamptz then 'deadline_at' end
            when jsonb_typeof(a.config -> 'deadline') is distinct from 'number' or a.config ? 'calendar' and a.step_kind = 'human'
            then case when a.deadline_at is null and jsonb_typeof(a.config -> 'deadline') = 'number' then 'deadline_at' end
            when a.deadline_at is distinct from a.ready_at + make_interval(secs => (a.config ->> 'deadline')::float8)
            then 'deadline_at' end,
        case when not a.was_changed and a.has_deadline is distinct from coalesce(a.def_deadline, false) then 'has_deadline' end
    ], null) as names
    from asked as a
)
select c.unit_id, c.names from compared as c where c.names <> '{}' order by c.unit_id limit %(limit)s
