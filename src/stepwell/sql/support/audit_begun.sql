-- The streams that began in months that the log no longer has. The first entry that is left of such a stream names a block of those
-- months as the one before it, and its own hash proves that; or the block itself is partly of them. An approval or a receipt
-- may have no later event: its row has the time.
select s.run_id
from stepwell.audit_block_stream as s
inner join stepwell.audit_block as b on s.tenant_id = b.tenant_id and s.block_no = b.block_no
left join stepwell.audit_block as p on s.tenant_id = p.tenant_id and s.previous_block_no = p.block_no
where s.tenant_id = %(tenant_id)s and to_char(b.last_at at time zone 'UTC', 'YYYY-MM') <> all (%(archived)s)
    and (to_char(b.first_at at time zone 'UTC', 'YYYY-MM') = any (%(archived)s)
        or to_char(p.first_at at time zone 'UTC', 'YYYY-MM') = any (%(archived)s))
union
select a.approval_id >> 20 from stepwell.approval_detail as a
where a.tenant_id = %(tenant_id)s and to_char(a.requested_at at time zone 'UTC', 'YYYY-MM') = any (%(archived)s)
union
select r.receipt_id >> 20 from stepwell.action_receipt as r
where r.tenant_id = %(tenant_id)s and to_char(r.intended_at at time zone 'UTC', 'YYYY-MM') = any (%(archived)s)
