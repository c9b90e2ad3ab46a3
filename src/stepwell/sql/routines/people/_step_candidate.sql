-- Purpose: may this person take the unit? Who is named for it, or has the role it asks for; anyone where it asks for none.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._step_candidate(p_unit stepwell.work_unit, p_person_id bigint) returns boolean
language sql stable
set search_path = stepwell, pg_temp
as $$
    select p_unit.pic_id is not distinct from p_person_id or exists (
        select from stepwell._step_asks(p_unit) as a
        where (a.role is null and a.assignee is null)
            or a.assignee = (select p.person_name from stepwell.person as p
                where p.tenant_id = p_unit.tenant_id and p.person_id = p_person_id)
            or exists (select from stepwell.person_role as r
                where r.tenant_id = p_unit.tenant_id and r.person_id = p_person_id and r.role_name = a.role))
$$;
