-- Tenants that have a chain and no row: their log was sealed, and nobody would be told about them.
select distinct c.tenant_id
from stepwell.audit_chain as c
where not exists (select from stepwell.tenant as t where t.tenant_id = c.tenant_id)
order by 1
