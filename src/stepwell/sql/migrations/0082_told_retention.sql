-- The log tells what retention removes, and every change of a setting. So nobody can change a setting, remove runs with it
-- and leave no trace; what is gone without such an event is a finding of verify. And the event that seals a bundle counts the
-- events of its approvals and receipts, so that whoever exports cannot leave out the last ones.

insert into stepwell.event_type_registry (event_type, description) values
('setting.changed', 'A setting of the database was changed, added or removed; every tenant is told'),
('retention.began', 'From here on the log tells what retention removes; older work may have been removed before'),
('retention.removed', 'Retention removed runs, jobs, approvals or receipts with all their rows');
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description) values
('setting.changed', 'key', 'string', true, 'The key of the setting'),
('setting.changed', 'before', 'string', false, 'Its value before, as JSON; missing for a new one'),
('setting.changed', 'after', 'string', false, 'Its value now, as JSON; missing for one that was removed'),
('retention.began', 'kept_since', 'string', true, 'Work that ended before this time may be gone already'),
('retention.removed', 'numbers', 'array', true, 'The numbers of what was removed: lists of the first and the last of each row'),
('retention.removed', 'count', 'number', true, 'How many numbers these are'),
('retention.removed', 'kept_since', 'string', true, 'Only what ended before this time was removed'),
('evidence.sealed', 'streams', 'array', false, 'Lists of the number of each approval and receipt of the run, and how many events it had');

-- What was removed before this release has no event. Tenants with a sealed log are told until when that may have happened. The
-- event needs a month of the log that exists.
insert into stepwell.event_log (tenant_id, at, run_id, unit_id, event_type, actor_class, actor, payload)
select c.tenant_id, least(n.at, m.ends_at - interval '1 second'), 0, 0, 'retention.began', 'system', 'engine', jsonb_build_object('kept_since',
    to_char((n.at - make_interval(days => s.days)) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
from stepwell.audit_chain as c
cross join (select clock_timestamp() as at) as n
cross join (
    select min((d.config_value #>> '{}')::int) as days from stepwell.dot_config as d
    where d.config_key in ('retention.run_days', 'retention.replay_request_days', 'retention.receipt_days')
) as s
cross join (
    select max((to_date(right(p.relname, 7), 'YYYY_MM') + interval '1 month') at time zone 'UTC') as ends_at
    from pg_inherits as i
    inner join pg_class as p on i.inhrelid = p.oid
    where i.inhparent = 'stepwell.event_log'::regclass and p.relname ~ '^event_log_\d{4}_\d{2}$'
) as m
where m.ends_at is not null;
