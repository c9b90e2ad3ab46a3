-- Purpose: only a candidate may take the unit; says for whom it is.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW007 when the person is no candidate.
create or replace function stepwell._step_candidate_check(p_unit stepwell.work_unit, p_person_id bigint) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if not stepwell._step_candidate(p_unit, p_person_id) then
        raise exception using errcode = 'SW007', message = format('%s may not take step %s, which is for %s',
            stepwell._person_name(p_unit.tenant_id, p_person_id), p_unit.unit_id,
            (select concat_ws(' or ', 'role ' || a.role, a.assignee) from stepwell._step_asks(p_unit) as a));
    end if;
end
$$;
