-- The stored leaves of a block. Times that no sealed event can have, such as infinity, are returned as they are.
select l.leaf_hashes, l.txs, l.event_ids, l.unit_ids, l.event_types, l.value_hashes, array(
    select case when a.at between '0001-01-01 00:00+00' and '9999-12-31 23:59:59.999999+00'
        then to_char(a.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') else a.at::text end
    from unnest(l.ats) with ordinality as a (at, no)
    order by a.no)
from stepwell.audit_leaves as l
where l.tenant_id = %(tenant_id)s and l.block_no = %(block_no)s
