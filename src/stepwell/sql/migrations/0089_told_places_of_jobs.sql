-- The log tells the workspace and the priority of a job, and a receipt always names the session that may settle it. So verify
-- compares them with the log.

insert into stepwell.event_type_registry (event_type, description) values
('job.described', 'What the event of an earlier release did not tell about a job');
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description) values
('job.enqueued', 'workspace', 'string', false, 'The workspace of the job; missing for none'),
('job.enqueued', 'priority', 'number', false, 'The priority of the job; missing for 0'),
('job.described', 'workspace', 'string', false, 'The workspace of the job; missing for none'),
('job.described', 'priority', 'number', false, 'The priority of the job; missing for 0');

-- Jobs that are there already are told once. The event needs a month of the log that exists.
insert into stepwell.event_log (tenant_id, at, run_id, unit_id, event_type, actor_class, actor, audit_ref, payload)
select u.tenant_id, least(n.at, m.ends_at - interval '1 second'), u.unit_id >> 20, u.unit_id, 'job.described', 'system', 'engine',
    'operation:' || o.operation_name,
    jsonb_strip_nulls(jsonb_build_object('workspace', w.workspace_name, 'priority', nullif(u.priority, 0)))
from stepwell.work_unit as u
inner join stepwell.job_detail as j on u.tenant_id = j.tenant_id and u.unit_id = j.job_id
inner join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
left join stepwell.workspace as w on j.tenant_id = w.tenant_id and j.workspace_id = w.workspace_id
cross join (select clock_timestamp() as at) as n
cross join (
    select max((to_date(right(p.relname, 7), 'YYYY_MM') + interval '1 month') at time zone 'UTC') as ends_at
    from pg_inherits as i
    inner join pg_class as p on i.inhrelid = p.oid
    where i.inhparent = 'stepwell.event_log'::regclass and p.relname ~ '^event_log_\d{4}_\d{2}$'
) as m
where u.scope = 'job' and (w.workspace_name is not null or u.priority <> 0) and m.ends_at is not null;

-- The session of the last attempt that was allowed to make the effect, or to find out about it.
update stepwell.action_receipt as r set session_id = s.session_id
from (
    select distinct on (e.tenant_id, e.payload ->> 'receipt_id') e.tenant_id, (e.payload ->> 'receipt_id')::bigint as receipt_id,
        substr(e.actor, 9)::bigint as session_id
    from stepwell.event_log as e
    where e.event_type = 'action.judged' and e.payload ? 'receipt_id' and e.actor ~ '^session:[0-9]{1,18}$'
    order by e.tenant_id, e.payload ->> 'receipt_id', e.event_id desc
) as s
where r.session_id is null and r.tenant_id = s.tenant_id and r.receipt_id = s.receipt_id;
