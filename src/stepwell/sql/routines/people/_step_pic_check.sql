-- Purpose: only the person in charge may go on with a unit; says so as the guard does.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when there is no such person; SW004 naming the guard actor_is_pic.
create or replace function stepwell._step_pic_check(p_tenant_id int, p_unit_id bigint, p_actor text) returns bigint
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_person_id constant bigint := stepwell._person_find(p_tenant_id, p_actor);
    v_pic record;
begin
    select u.pic_id, p.person_name into v_pic
    from stepwell.work_unit as u
    left join stepwell.person as p on u.tenant_id = p.tenant_id and u.pic_id = p.person_id
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    if v_pic.pic_id is distinct from v_person_id then
        raise exception using errcode = 'SW004', message = format(
            'transition_refused_by_guard:actor_is_pic: step %s is in the hands of %s, not of %s',
            p_unit_id, coalesce(v_pic.person_name, 'nobody'), p_actor);
    end if;
    return v_person_id;
end
$$;
