-- The figures for monitoring of the tenant that is bound. Counting stops at a limit.
with queue as (
    select * from stepwell.v_queue_health
), ended as (
    -- By the index of ends, the newest first: the planner does not know how few these are.
    select r.finished_state as state_code from stepwell.run_detail as r
    where r.finished_at > (select stepwell.now() - interval '5 minutes')
    order by r.finished_at desc limit %s
)
select 'queue_depth', 'executor', q.executor, q.ready_count::float8 from queue as q
union all
select 'queue_oldest_seconds', 'executor', q.executor, coalesce(extract(epoch from q.oldest_ready_age), 0)::float8 from queue as q
union all
select 'leases', 'executor', q.executor, q.leased_count::float8 from queue as q
union all
select 'dead_letters', 'executor', q.executor, q.dead_count::float8 from queue as q
union all
select 'workers', 'executor', q.executor, q.worker_count::float8 from queue as q
union all
select 'timer_lag_seconds', null, null,
    coalesce(extract(epoch from stepwell.now() - (select min(t.due_at) from stepwell.timer as t where t.due_at <= stepwell.now())), 0)::float8
union all
select 'runs_ended_5m', 'state', e.state_code, count(*)::float8 from ended as e group by e.state_code
union all
select 'runs_open', null, null, count(*)::float8 from (
    select from stepwell.run_detail as r where r.finished_at is null limit %s
) as o
union all
select 'integrity_problems', null, null, coalesce(sum(c.open_count), 0)::float8
from stepwell.governance_count as c where c.category_code = 'integrity_warning'
union all
select 'seal_age_seconds', null, null, coalesce(max(extract(epoch from stepwell.now() - s.unsealed_since)), 0)::float8
from stepwell.v_audit_seal as s;
