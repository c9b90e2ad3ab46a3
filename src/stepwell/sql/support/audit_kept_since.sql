-- Retention keeps every run, job, approval and receipt whose last event is not older than this time.
select to_char((n.at - make_interval(days => n.days)) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
from (
    select greatest(clock_timestamp(), (select max(e.at) from stepwell.event_log as e where isfinite(e.at))) as at, (
        select min((c.config_value #>> '{}')::int) from stepwell.dot_config as c
        where c.config_key in ('retention.run_days', 'retention.replay_request_days', 'retention.receipt_days')) as days
) as n
