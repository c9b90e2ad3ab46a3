-- The last event and the last state in the log of each unit of some streams, and the state that the unit has now. A unit
-- that has no event at or after a position is not returned. The last state is that of the highest event_id, the order in
-- which the changes of a unit happened: a transaction that began earlier may change a unit later.
select l.unit_id, l.last_tx, l.last_event_id, s.state_tx, s.state_event_id, s.to_state, u.state_code, u.unit_id is not null,
    exists (select from stepwell.work_unit as r
        where r.tenant_id = %(tenant_id)s and r.unit_id = (l.unit_id >> 20) << 20)
from (
    select distinct on (e.unit_id) e.unit_id, e.tx::text::bigint as last_tx, e.event_id as last_event_id
    from stepwell.event_log as e
    where e.tenant_id = %(tenant_id)s and e.run_id = any (%(stream_ids)s) and e.unit_id is not null
        and (e.tx, e.event_id) >= (%(tx)s::text::xid8, %(event_id)s)
    order by e.unit_id, e.tx desc, e.event_id desc
) as l
left join (
    select distinct on (e.unit_id) e.unit_id, e.tx::text::bigint as state_tx, e.event_id as state_event_id, e.to_state
    from stepwell.event_log as e
    where e.tenant_id = %(tenant_id)s and e.run_id = any (%(stream_ids)s) and e.to_state is not null
    order by e.unit_id, e.event_id desc
) as s on l.unit_id = s.unit_id
left join stepwell.work_unit as u on u.tenant_id = %(tenant_id)s and l.unit_id = u.unit_id
