-- Purpose: adds a person, or changes name to show, roles and whether the person still takes part.
-- Locks: the person's row.
-- Idempotency: the same values again change nothing.
-- Raises: SW001 when the name is missing or too long; SW007 for another tenant.
create or replace function stepwell.fn_person_set(
    p_tenant_id int, p_person_name text, p_roles text[] default null, p_display_name text default null,
    p_is_active boolean default true
) returns bigint
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_person_id bigint;
begin
    perform stepwell._tenant_bound(p_tenant_id);
    if coalesce(length(p_person_name), 0) not between 1 and 200 then
        raise exception using errcode = 'SW001', column = 'person_name',
            message = 'person_name: 1 to 200 characters are accepted';
    end if;
    insert into stepwell.person as p (tenant_id, person_name, display_name, is_active, created_at)
    values (p_tenant_id, p_person_name, p_display_name, p_is_active, stepwell.now())
    on conflict (tenant_id, person_name) do update
        set display_name = coalesce(excluded.display_name, p.display_name), is_active = excluded.is_active
    returning p.person_id into v_person_id;
    if p_roles is not null then
        delete from stepwell.person_role as r
        where r.tenant_id = p_tenant_id and r.person_id = v_person_id and not r.role_name = any (p_roles);
        insert into stepwell.person_role (tenant_id, person_id, role_name)
        select distinct p_tenant_id, v_person_id, x.role_name from unnest(p_roles) as x (role_name)
        on conflict do nothing;
    end if;
    return v_person_id;
end
$$;
