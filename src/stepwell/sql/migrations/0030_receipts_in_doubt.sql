-- A receipt in doubt is not settled: settled_at is null exactly while it is intended or unconfirmed. The keeper and the
-- doctor read only these.
update stepwell.action_receipt as r set settled_at = null, settled_by = null
from stepwell.work_unit as u
where r.tenant_id = u.tenant_id and r.receipt_id = u.unit_id and u.state_code = 'unconfirmed' and r.settled_at is not null;

create index receipts_not_settled on stepwell.action_receipt (tenant_id, receipt_id) where settled_at is null;
