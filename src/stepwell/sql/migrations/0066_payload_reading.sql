-- Payloads are read by whoever has the verb payload.read: no longer everybody. A person still sees what the person works on
-- and decides about. An installation that wants the earlier rule adds the row of everybody again.
delete from stepwell.permission where tenant_id = 0 and role_name = 'everybody' and verb = 'payload.read';
insert into stepwell.permission (tenant_id, role_name, verb)
select 0, r.role_name, 'payload.read'
from unnest(array['reviewer', 'operator', 'publisher', 'admin']) as r (role_name)
on conflict do nothing;
update stepwell.verb set description = 'See inputs, outputs, results, checkpoints, fields of actions, and what approvals show'
where verb = 'payload.read';
