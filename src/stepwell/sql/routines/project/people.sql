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
