-- The people among the principals, under the names that routines about people use.

-- Every person of every tenant.
create or replace view stepwell.person with (security_invoker = true) as
select p.tenant_id, p.principal_id as person_id, p.principal_name as person_name, p.display_name, p.is_active, p.created_at,
    p.name_key
from stepwell.principal as p
where p.kind = 'person';

-- The roles of people, and of the other principals of a tenant.
create or replace view stepwell.person_role with (security_invoker = true) as
select r.tenant_id, r.principal_id as person_id, r.role_name
from stepwell.principal_role as r;
