-- The seal covers the values beside the log: inputs, outputs, failures, and what people saw. And an event of the log
-- itself says which months were archived and how many events they had; a table that anybody could fill said it before.

alter table stepwell.audit_leaves add column value_hashes bytea[];
comment on column stepwell.audit_leaves.value_hashes is 'For each leaf the hashes of the values that its unit had when it was sealed, 32 bytes each; null where the event carries none, and for blocks of earlier releases.';

insert into stepwell.event_type_registry (event_type, description) values
('log.archived', 'Months of the log were dropped by retention; the newest of these events counts all of them');
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description) values
('log.archived', 'months', 'array', true, 'Every month that was dropped so far, as YYYY-MM'),
('log.archived', 'event_count', 'number', true, 'How many sealed events of this tenant all these months had');

-- What was archived before: its events are those that the headers count and the log no longer has. Without a partition
-- for this month nothing can be said now; then verify reports these events as missing.
insert into stepwell.event_log (tenant_id, at, run_id, unit_id, event_type, actor_class, actor, payload)
select c.tenant_id, n.at, 0, 0, 'log.archived', 'system', 'engine', jsonb_build_object('months', m.months, 'event_count',
    coalesce((select sum(b.event_count) from stepwell.audit_block as b where b.tenant_id = c.tenant_id), 0)
    - (select count(*) from stepwell.event_log as e where e.tenant_id = c.tenant_id
        and (e.tx, e.event_id) <= (c.last_tx, c.last_event_id)))
from stepwell.audit_chain as c
cross join (select clock_timestamp() as at) as n
cross join (
    select jsonb_agg(to_char(a.month, 'YYYY-MM') order by a.month) as months
    from stepwell.audit_archived_month as a
    having count(*) > 0
) as m
where to_regclass('stepwell.event_log_' || to_char(n.at at time zone 'UTC', 'YYYY_MM')) is not null;
drop table stepwell.audit_archived_month;
