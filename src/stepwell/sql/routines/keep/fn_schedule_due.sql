-- Purpose: the schedules a keeper must look at now: those whose time has come, and those without a next time. Cron is
--   read by the keeper, with time zones; fn_schedule_fire takes its answer.
-- Locks: none; two keepers that see the same schedule fire it once.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_schedule_due(p_limit int default 100)
returns table (
    tenant_id int, schedule_name text, cron text, time_zone text, misfire text, backfill_limit int,
    next_at timestamptz, now_at timestamptz
)
language sql stable security definer
set search_path = stepwell, pg_temp
as $$
    select s.tenant_id, s.schedule_name, s.cron, s.time_zone, s.misfire, s.backfill_limit, s.next_at, t.now_at
    from stepwell.workflow_schedule as s
    cross join (select stepwell.now()) as t (now_at)
    where not s.is_paused and (s.next_at <= t.now_at or s.next_at is null)
    order by s.next_at nulls first, s.tenant_id, s.schedule_name
    limit least(p_limit, 1000)
$$;
