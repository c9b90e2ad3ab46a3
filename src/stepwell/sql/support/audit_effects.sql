-- The approvals and receipts of the log: number, whether it is a receipt, payload, and whether the verdict that allowed a receipt,
-- which was written just before, may be of a month that the log no longer has.
select e.unit_id, e.event_type = 'receipt.intended', e.payload::text,
    coalesce(to_char((e.at - interval '5 minutes') at time zone 'UTC', 'YYYY-MM') = any (%(archived)s), false)
from stepwell.event_log as e
where e.tenant_id = %(tenant_id)s and e.event_type in ('approval.requested', 'receipt.intended')
order by e.event_id
