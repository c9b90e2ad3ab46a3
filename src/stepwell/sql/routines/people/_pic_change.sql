-- Purpose: puts another person, or nobody, in charge of a unit, and tells it.
-- Locks: the caller holds the run.
-- Idempotency: the same person again changes nothing.
-- Raises: nothing.
create or replace function stepwell._pic_change(
    p_tenant_id int, p_unit_id bigint, p_person_id bigint, p_actor text, p_reason text
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_scope text;
begin
    update stepwell.work_unit as u set pic_id = p_person_id
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id and u.pic_id is distinct from p_person_id
    returning u.scope into v_scope;
    if found then
        perform stepwell._event_append(p_tenant_id, p_unit_id, v_scope || '.pic_changed', p_actor,
            jsonb_strip_nulls(jsonb_build_object('reason', p_reason, 'pic', (select p.person_name from stepwell.person as p
                where p.tenant_id = p_tenant_id and p.person_id = p_person_id))),
            'pic_human');
    end if;
end
$$;
