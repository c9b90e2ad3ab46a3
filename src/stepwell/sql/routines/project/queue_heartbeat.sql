-- Heartbeats per worker session and executor class. Executors come from executor_class, which never names the
-- template generator.
create or replace view stepwell.queue_heartbeat with (security_invoker = true) as
select
    s.session_id,
    s.worker_name,
    c.class_name as executor_kind,
    s.slot_count,
    s.started_at,
    s.last_tick_at,
    s.expires_at,
    case when s.closed_at is null and s.expires_at >= stepwell.now() then s.last_tick_at end as last_ok_at,
    case
        when s.closed_at is not null then 'closed'
        when s.expires_at < stepwell.now() or s.last_tick_at < stepwell.now() - h.threshold then 'silent'
        else 'alive'
    end as status,
    s.closed_at,
    s.info
from stepwell.worker_session as s
cross join lateral unnest(s.class_ids) as k (class_id)
inner join stepwell.executor_class as c on k.class_id = c.class_id
cross join lateral (
    select make_interval(secs => coalesce(
        (select (f.config_value #>> '{}')::float from stepwell.dot_config as f
            where f.config_key = 'heartbeat.threshold_seconds.' || c.class_name),
        (select (f.config_value #>> '{}')::float from stepwell.dot_config as f
            where f.config_key = 'heartbeat.threshold_seconds.default'), 60))
) as h (threshold);
