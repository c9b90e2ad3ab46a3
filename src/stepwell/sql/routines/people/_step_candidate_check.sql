-- Purpose: may this person take the unit? Who is named for it, or has the role it asks for; anyone where it asks for none.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW007 when the person is no candidate.
create or replace function stepwell._step_candidate_check(p_unit stepwell.work_unit, p_person_id bigint) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_asks record;
    v_name text;
begin
    select a.* into v_asks from stepwell._step_asks(p_unit) as a;
    select p.person_name into v_name from stepwell.person as p
    where p.tenant_id = p_unit.tenant_id and p.person_id = p_person_id;
    if p_unit.pic_id = p_person_id or v_asks.assignee = v_name or (v_asks.role is null and v_asks.assignee is null)
        or exists (select from stepwell.person_role as r
            where r.tenant_id = p_unit.tenant_id and r.person_id = p_person_id and r.role_name = v_asks.role) then
        return;
    end if;
    raise exception using errcode = 'SW007', message = format('%s may not take step %s, which is for %s', v_name,
        p_unit.unit_id, concat_ws(' or ', 'role ' || v_asks.role, v_asks.assignee));
end
$$;
