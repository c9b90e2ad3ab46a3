-- The queue of each tenant and executor class in one row: what can start, stands in line, runs, waits or died, how
-- old the oldest claimable job is, and who is there to take it.
create or replace view stepwell.v_queue_health with (security_invoker = true) as
select
    t.tenant_id,
    c.class_name as executor,
    coalesce(r.ready_count, 0) as ready_count,
    coalesce(l.line_count, 0) as line_count,
    stepwell._leased_count(t.tenant_id, c.class_id) as leased_count,
    coalesce(x.retry_waiting_count, 0) as retry_waiting_count,
    coalesce(x.asleep_count, 0) + coalesce(p.waiting_count, 0) as parked_count,
    coalesce(x.scheduled_count, 0) as scheduled_count,
    coalesce(d.dead_count, 0) as dead_count,
    r.oldest_ready_at,
    stepwell.now() - r.oldest_ready_at as oldest_ready_age,
    coalesce(w.worker_count, 0) as worker_count,
    coalesce(w.slot_count, 0) as slot_count
from stepwell.tenant as t
cross join stepwell.executor_class as c
left join lateral (
    select count(*) as ready_count, min(u.last_transition_at) as oldest_ready_at
    from stepwell.job_ready as q
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where q.tenant_id = t.tenant_id and q.class_id = c.class_id
) as r on true
left join lateral (
    select count(*) as line_count
    from stepwell.job_line as q
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where q.tenant_id = t.tenant_id and u.class_id = c.class_id
) as l on true
left join lateral (
    select
        count(*) filter (where q.timer_kind = 'start') as scheduled_count,
        count(*) filter (where q.timer_kind = 'retry') as retry_waiting_count,
        count(*) filter (where q.timer_kind = 'sleep') as asleep_count
    from stepwell.timer as q
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where q.tenant_id = t.tenant_id and u.class_id = c.class_id and q.timer_kind in ('start', 'retry', 'sleep')
) as x on true
left join lateral (
    select count(*) as waiting_count
    from stepwell.event_wait as q
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where q.tenant_id = t.tenant_id and u.class_id = c.class_id
) as p on true
left join lateral (
    select count(*) as dead_count
    from stepwell.job_dead_letter as q
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where q.tenant_id = t.tenant_id and u.class_id = c.class_id and q.resolved_at is null
) as d on true
left join lateral (
    select count(*) as worker_count, sum(s.slot_count) as slot_count
    from stepwell.worker_session as s
    where s.closed_at is null and s.expires_at >= stepwell.now() and c.class_id = any (s.class_ids)
) as w on true;
