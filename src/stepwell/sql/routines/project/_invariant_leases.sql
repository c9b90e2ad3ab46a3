-- Purpose: faults of leases: held by an ended session, missing, in the wrong state, unknown to recovery, or a unit that
--   is leased and claimable at once; and state changes written by a session after its end.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._invariant_leases()
returns table (invariant text, fault text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with leased as (
        select u.tenant_id, u.unit_id, u.state_code, u.lease_session_id, s.closed_at, s.session_id
        from stepwell.work_unit as u
        left join stepwell.worker_session as s on u.lease_session_id = s.session_id
        where u.lease_session_id is not null
    ), known as (
        select distinct l.session_id, q.tenant_id, q.unit_id
        from stepwell.worker_lease as l
        cross join lateral unnest(l.tenant_ids, l.unit_ids) as q (tenant_id, unit_id)
    )
    select 'leases_are_single_and_alive', format('unit %s is %s and leased', l.unit_id, l.state_code)
    from leased as l
    where l.state_code not in ('in_progress', 'overdue')
    union all
    select 'leases_are_single_and_alive', format('unit %s is leased to session %s, which has ended', l.unit_id, l.lease_session_id)
    from leased as l
    where l.session_id is null or l.closed_at is not null
    union all
    select 'leases_are_single_and_alive', format('unit %s is leased to session %s, whose claims do not name it',
        l.unit_id, l.lease_session_id)
    from leased as l
    where not exists (select from known as k
        where k.session_id = l.lease_session_id and k.tenant_id = l.tenant_id and k.unit_id = l.unit_id)
    union all
    select 'leases_are_single_and_alive', format('unit %s is %s by a worker without a lease', u.unit_id, u.state_code)
    from stepwell.work_unit as u
    where u.state_code in ('in_progress', 'overdue') and u.operation_id is not null and u.lease_session_id is null
        and u.pic_id is null
    union all
    select 'leases_are_single_and_alive', format('unit %s is %s and claimable', r.unit_id, coalesce(u.state_code, 'gone'))
    from stepwell.job_ready as r
    left join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.unit_id = u.unit_id
    where u.state_code is null or u.state_code <> case when r.is_retry then 'failed' else 'ready' end
    union all
    select 'leases_are_single_and_alive', format('session %s ended, and event %s (%s) came after', s.session_id, e.event_id, e.event_type)
    from stepwell.event_log as e
    inner join stepwell.worker_session as s on e.actor = 'session:' || s.session_id
    where e.at > s.closed_at and e.to_state is not null and e.event_type not like '%.released'
$$;
