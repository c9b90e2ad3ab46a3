-- Purpose: the number of a person, by name.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when there is no such person, or the person is no longer active.
create or replace function stepwell._person_find(p_tenant_id int, p_person_name text) returns bigint
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_person_id bigint;
begin
    select p.person_id into v_person_id
    from stepwell.person as p
    where p.tenant_id = p_tenant_id and p.person_name = p_person_name and p.is_active;
    if not found then
        raise exception using errcode = 'SW002', column = 'actor', hint = 'add the person first',
            message = format('person %s does not exist', coalesce(p_person_name, '(none)'));
    end if;
    return v_person_id;
end
$$;
