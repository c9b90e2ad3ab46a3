-- Purpose: may this person make this call? By the guard that is named: actor_oversees lets those who look after the unit,
--   actor_is_responsible the person in charge too, actor_takes_part whoever could take it as well. Hands on the person.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when there is no such person; SW004 naming the guard.
create or replace function stepwell._step_actor_check(p_tenant_id int, p_unit_id bigint, p_actor text, p_guard text)
returns bigint
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_person_id constant bigint := stepwell._person_find(p_tenant_id, p_actor);
    v_unit stepwell.work_unit;
begin
    select u.* into v_unit from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    if stepwell._guard_named(p_guard, v_unit, jsonb_build_object('actor_id', v_person_id), p_actor, stepwell.now()) then
        return v_person_id;
    end if;
    raise exception using errcode = 'SW004', message = format('transition_refused_by_guard:%s: step %s is not for %s to decide',
        p_guard, p_unit_id, p_actor), hint = format('accepted is %sa person with one of the roles %s', case p_guard
            when 'actor_is_responsible' then 'the person in charge, or '
            when 'actor_takes_part' then 'the person in charge, a candidate, or ' else '' end,
        (select string_agg(r.role_name, ', ') from stepwell.dot_config as c
            cross join lateral jsonb_array_elements_text(c.config_value) as r (role_name)
            where c.config_key = 'people.overseer_roles'));
end
$$;
