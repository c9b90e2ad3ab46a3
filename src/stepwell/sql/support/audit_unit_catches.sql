-- Steps that failed or were cancelled and whose mark failure_caught differs from the order of the log: number of the unit,
-- names of the columns. A conditional that is decided catches what ended badly before it, upwards through the steps that
-- were cancelled; the mark stays until the step leaves its state. A run is compared if the log has its first change.
with recursive bad as materialized (
    select u.unit_id, u.failure_caught, u.unit_id >> 20 as run_id
    from stepwell.work_unit as u
    where u.tenant_id = %(tenant_id)s and u.scope = 'step' and u.state_code in ('cannot_complete', 'cancelled')
), run as materialized (
    select distinct b.run_id from bad as b
    where exists (select from stepwell.event_log as e where e.tenant_id = %(tenant_id)s and e.run_id = b.run_id
        and e.unit_id = b.run_id << 20 and e.to_state is not null and (e.from_state is null or e.from_state = 'not_started'))
), change as materialized (
    select e.unit_id, e.event_id, e.to_state,
        lead(e.event_id, 1, 9223372036854775807) over (partition by e.unit_id order by e.event_id) as next_id
    from run as r
    inner join stepwell.event_log as e on e.tenant_id = %(tenant_id)s and e.run_id = r.run_id
    where e.unit_id is not null and e.to_state is not null
), up as (
    select c.event_id as decided_id, u.unit_id, u.version_id, u.def_no, null::text as state_code
    from change as c
    inner join stepwell.work_unit as u on u.tenant_id = %(tenant_id)s and c.unit_id = u.unit_id
    inner join stepwell.workflow_step_def as d
        on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    where c.to_state = 'completed' and u.scope = 'step' and d.step_kind = 'conditional'
    union
    select d.decided_id, c.unit_id, d.version_id, r.from_no, c.to_state
    from up as d
    inner join stepwell.workflow_step_relations as r
        on r.tenant_id = %(tenant_id)s and d.version_id = r.version_id and d.def_no = r.to_no
    inner join change as c on d.unit_id + r.from_no - d.def_no = c.unit_id
        and c.event_id < d.decided_id and c.next_id > d.decided_id
    where d.state_code is distinct from 'cannot_complete' and c.to_state in ('cannot_complete', 'cancelled')
), caught as (
    select u.unit_id, max(u.decided_id) as decided_id from up as u where u.state_code is not null group by u.unit_id
)
select b.unit_id, array['failure_caught']
from bad as b
inner join run as r on b.run_id = r.run_id
left join change as l on b.unit_id = l.unit_id and l.next_id = 9223372036854775807
left join caught as c on b.unit_id = c.unit_id
where b.failure_caught is distinct from coalesce(c.decided_id > l.event_id, false)
order by b.unit_id
limit %(limit)s
