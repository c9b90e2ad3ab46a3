-- Persons with their roles.

-- Every person with the names of its roles.
create or replace view stepwell.v_person with (security_invoker = true) as
select
    p.tenant_id,
    p.person_name,
    p.display_name,
    p.is_active,
    coalesce((
        select array_agg(r.role_name order by r.role_name) from stepwell.person_role as r
        where r.tenant_id = p.tenant_id and r.person_id = p.person_id
    ), '{}') as roles
from stepwell.person as p;

-- The accounts of a tenant: people, services and agents, their roles and what these allow.
create or replace view stepwell.v_principal with (security_invoker = true) as
select p.tenant_id, p.principal_id, p.principal_name, p.name_key, p.kind, p.display_name, p.is_active, p.created_at,
    stepwell._roles_of(p.tenant_id, p.principal_id) as roles,
    array(select distinct a.verb from stepwell.permission as a
        where a.tenant_id in (0, p.tenant_id)
            and (a.role_name = 'everybody' or a.role_name = any (stepwell._roles_of(p.tenant_id, p.principal_id)))
        order by a.verb) as verbs
from stepwell.principal as p;
