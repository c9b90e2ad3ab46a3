-- The events of verdicts after a position, in the order of the log, and whether the rows of their run are still there.
select e.tx::text::bigint, e.event_id, case when e.at between '0001-01-01 00:00+00' and '9999-12-31 23:59:59.999999+00'
        then to_char(e.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') else e.at::text end,
    e.unit_id, e.actor, e.payload::text, exists (select from stepwell.work_unit as u
        where u.tenant_id = e.tenant_id and u.unit_id = (e.unit_id >> 20) << 20)
from stepwell.event_log as e
where e.tenant_id = %(tenant_id)s and e.event_type = 'action.judged'
    and (e.tx, e.event_id) > (%(tx)s::text::xid8, %(event_id)s)
order by e.tx, e.event_id
limit %(limit)s
