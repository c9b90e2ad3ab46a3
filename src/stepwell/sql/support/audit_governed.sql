-- Every approval and receipt that a table has, or that the log names and whose unit is still there.
select x.unit_id
from (
    select a.approval_id as unit_id from stepwell.approval_detail as a where a.tenant_id = %(tenant_id)s
    union
    select v.approval_id from stepwell.approval_vote as v where v.tenant_id = %(tenant_id)s
    union
    select r.receipt_id from stepwell.action_receipt as r where r.tenant_id = %(tenant_id)s
    union
    select e.unit_id
    from stepwell.event_log as e
    inner join stepwell.work_unit as u on e.tenant_id = u.tenant_id and e.unit_id = u.unit_id
    where e.tenant_id = %(tenant_id)s and e.event_type in ('approval.requested', 'receipt.intended')
) as x
order by x.unit_id
