-- Schedules with the name of their workflow, and when each ran last and is due next.
create or replace view stepwell.v_schedule with (security_invoker = true) as
select
    s.tenant_id,
    s.schedule_name,
    w.workflow_name as workflow,
    s.cron,
    s.time_zone,
    s.input,
    s.misfire,
    s.backfill_limit,
    s.is_paused,
    s.next_at,
    s.last_at,
    s.created_at,
    s.created_by
from stepwell.workflow_schedule as s
inner join stepwell.workflow_registry as w on s.tenant_id = w.tenant_id and s.workflow_id = w.workflow_id;
