-- Purpose: faults of the log against the states: a unit whose last event says another state, an event that does not
--   begin where the one before ended, a unit that moved without an event.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._invariant_fold()
returns table (invariant text, fault text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with change as (
        select
            e.tenant_id, e.unit_id, e.event_id, e.event_type, e.from_state, e.to_state,
            lag(e.to_state) over w as before_state, row_number() over w as change_no,
            lead(e.event_id) over w is null as is_last
        from stepwell.event_log as e
        where e.to_state is not null
        window w as (partition by e.tenant_id, e.unit_id order by e.event_id)
    ), unit as (
        select u.tenant_id, u.unit_id, u.scope, u.state_code, d.state_code as initial_state
        from stepwell.work_unit as u
        left join stepwell.state_def as d
            on u.state_machine_id = d.state_machine_id and d.is_initial and d.state_code = u.state_code
    )
    select 'states_are_the_fold_of_events', format('unit %s is %s, its last event %s (%s) says %s',
        u.unit_id, u.state_code, c.event_id, c.event_type, c.to_state)
    from unit as u
    inner join change as c on u.tenant_id = c.tenant_id and u.unit_id = c.unit_id and c.is_last
    where u.state_code <> c.to_state
    union all
    select 'states_are_the_fold_of_events', format('event %s (%s) of unit %s begins at %s, the one before ended at %s',
        c.event_id, c.event_type, c.unit_id, coalesce(c.from_state, 'nothing'), c.before_state)
    from change as c
    where c.change_no > 1 and c.from_state is distinct from c.before_state
    union all
    select 'states_are_the_fold_of_events', format('unit %s is %s and has no event', u.unit_id, u.state_code)
    from unit as u
    where u.initial_state is null
        and not exists (select from change as c where c.tenant_id = u.tenant_id and c.unit_id = u.unit_id)
    union all
    -- A unit that is born with an event is born once.
    select 'states_are_the_fold_of_events', format('unit %s was born %s times', c.unit_id, count(*))
    from change as c
    where c.from_state is null
    group by c.tenant_id, c.unit_id
    having count(*) > 1
$$;
