-- Purpose: faults of what has ended: something of it still queued, in line, timed, waiting, leased or unfinished.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._invariant_leftovers()
returns table (invariant text, fault text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with ended as (
        select u.tenant_id, u.unit_id, u.unit_id >> 20 as stream_id, u.scope, u.state_code
        from stepwell.work_unit as u
        where (u.scope = 'workflow_run' and u.state_code in ('completed', 'failed', 'cancelled'))
            or (u.scope in ('step', 'task', 'job')
                and u.state_code in ('completed', 'skipped', 'cancelled', 'cannot_complete'))
    ), left_over as (
        select r.tenant_id, r.unit_id, 'queued' as how from stepwell.job_ready as r
        union all
        select l.tenant_id, l.unit_id, 'in line' from stepwell.job_line as l
        union all
        select t.tenant_id, t.unit_id, 'timed (' || t.timer_kind || ')' from stepwell.timer as t
        union all
        select w.tenant_id, w.unit_id, 'waiting' from stepwell.event_wait as w
    )
    select 'nothing_is_left_of_what_has_ended', format('unit %s is %s, but %s', l.unit_id, e.state_code, l.how)
    from left_over as l
    inner join ended as e on l.tenant_id = e.tenant_id and l.unit_id = e.unit_id
    union all
    select 'nothing_is_left_of_what_has_ended', format('unit %s is %s, its run is %s', l.unit_id, l.how, e.state_code)
    from left_over as l
    inner join ended as e on l.tenant_id = e.tenant_id and (l.unit_id >> 20) << 20 = e.unit_id
    where e.scope = 'workflow_run'
    union all
    select 'nothing_is_left_of_what_has_ended', format('step %s is %s, its run is %s', u.unit_id, u.state_code, e.state_code)
    from ended as e
    inner join stepwell.work_unit as u on e.tenant_id = u.tenant_id and (u.unit_id >> 20) << 20 = e.unit_id
    where e.scope = 'workflow_run' and u.scope in ('step', 'task')
        and u.state_code not in ('completed', 'skipped', 'cancelled', 'cannot_complete')
    union all
    select 'nothing_is_left_of_what_has_ended', format('run %s is %s, its end is not on record', r.run_id, e.state_code)
    from ended as e
    inner join stepwell.run_detail as r on e.tenant_id = r.tenant_id and e.stream_id = r.run_id
    where e.scope = 'workflow_run' and (r.finished_at is null or r.finished_state is distinct from e.state_code)
$$;
