-- How many units a tenant has, and how many versions of workflows and policies.
select
    (select count(*) from stepwell.work_unit as u where u.tenant_id = %(tenant_id)s),
    (select count(*) from stepwell.workflow_version as v where v.tenant_id = %(tenant_id)s)
        + (select count(*) from stepwell.policy_set as p where p.tenant_id = %(tenant_id)s)
