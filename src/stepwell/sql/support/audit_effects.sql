-- The approvals and receipts of the log: number, whether it is a receipt, payload.
select e.unit_id, e.event_type = 'receipt.intended', e.payload::text
from stepwell.event_log as e
where e.tenant_id = %(tenant_id)s and e.event_type in ('approval.requested', 'receipt.intended')
order by e.event_id
