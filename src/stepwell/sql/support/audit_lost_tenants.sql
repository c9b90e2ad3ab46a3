-- Tenants that have a chain, a policy or a workflow, and no row: nobody would be told about them.
select x.tenant_id
from (
    select c.tenant_id from stepwell.audit_chain as c
    union
    select a.tenant_id from stepwell.policy_active as a
    union
    select s.tenant_id from stepwell.policy_set as s
    union
    select w.tenant_id from stepwell.workflow_registry as w
) as x
where x.tenant_id <> 0 and not exists (select from stepwell.tenant as t where t.tenant_id = x.tenant_id)
order by 1
