-- Principals of a tenant are added, get roles, and are made inactive: people, services and agents.

-- Adds a person, or changes the display name, the roles and whether the person is active.
-- Locks: the person's row.
-- Idempotency: the same values again change nothing.
-- Raises: SW001 when the name is not accepted; SW003 when the name belongs to a service or an agent, or looks like another
--   name; SW007 when the caller may not change principals, or for another tenant.
create or replace function stepwell.fn_person_set(
    p_tenant_id int, p_person_name text, p_roles text[] default null, p_display_name text default null,
    p_is_active boolean default true
) returns bigint
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._verb_check(p_tenant_id, 'principal.change');
    return stepwell._principal_set(p_tenant_id, 'person', 'person_name', p_person_name, p_roles, p_display_name, p_is_active);
end
$$;

-- Adds a principal of any kind, or changes its display name, its roles and whether it is active. The kind stays.
-- Locks: the row of the principal.
-- Idempotency: the same values again change nothing.
-- Raises: SW001 when the name is not accepted, or the kind is unknown; SW003 when the name belongs to a principal of
--   another kind, or looks like another name; SW007 when the caller may not change principals, or for another tenant.
create or replace function stepwell.fn_principal_set(
    p_tenant_id int, p_kind text, p_name text, p_roles text[] default null, p_display_name text default null,
    p_is_active boolean default true
) returns bigint
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._verb_check(p_tenant_id, 'principal.change');
    if p_kind is null or p_kind not in ('person', 'service', 'agent') then
        raise exception using errcode = 'SW001', column = 'kind', message = 'kind: person, service or agent is accepted';
    end if;
    return stepwell._principal_set(p_tenant_id, p_kind, 'name', p_name, p_roles, p_display_name, p_is_active);
end
$$;

-- Adds and removes roles of a principal, and sets whether it is active. What is null stays. Returns its roles.
-- Locks: the row of the principal.
-- Idempotency: the same change again changes nothing.
-- Raises: SW002 when there is no such principal; SW007 when the caller may not change principals, or for another tenant.
create or replace function stepwell.fn_principal_change(
    p_tenant_id int, p_name text, p_add_roles text[] default null, p_remove_roles text[] default null, p_is_active boolean default null
) returns text[]
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_found stepwell.principal;
begin
    perform stepwell._verb_check(p_tenant_id, 'principal.change');
    select p.* into v_found from stepwell.principal as p
    where p.tenant_id = p_tenant_id and p.name_key = stepwell._name_fold(p_name)
    for update;
    if not found then
        raise exception using errcode = 'SW002', column = 'name',
            hint = coalesce(stepwell.fn_name_suggest(p_tenant_id, 'person', p_name), 'add the person or the service first: stepwell user add NAME'),
            message = format('%s does not exist', coalesce(p_name, '(none)'));
    end if;
    perform stepwell._principal_set(p_tenant_id, v_found.kind, 'name', v_found.principal_name,
        array(select x from unnest(stepwell._roles_of(p_tenant_id, v_found.principal_id) || p_add_roles) as x
            where not x = any (coalesce(p_remove_roles, '{}'))),
        null, coalesce(p_is_active, v_found.is_active));
    return stepwell._roles_of(p_tenant_id, v_found.principal_id);
end
$$;

-- Stores a principal and its roles. When something has changed, an event tells what it is now.
-- Locks: the row of the principal.
-- Raises: SW001 when the name is not accepted; SW003 when the name belongs to a principal of another kind.
create or replace function stepwell._principal_set(
    p_tenant_id int, p_kind text, p_field text, p_name text, p_roles text[], p_display_name text, p_is_active boolean
) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_old stepwell.principal;
    v_old_roles text[];
    v_roles text[];
    v_is_new boolean;
begin
    p_display_name := stepwell._redact_text(p_display_name);
    perform stepwell._name_check(p_field, p_name);
    perform stepwell._secret_refuse('roles', x.role_name) from unnest(p_roles) as x (role_name);
    insert into stepwell.principal (tenant_id, kind, principal_name, display_name, is_active, created_at)
    select p_tenant_id, p_kind, p_name, p_display_name, p_is_active, stepwell.now()
    where not exists (select from stepwell.principal as p
        where p.tenant_id = p_tenant_id and p.name_key = stepwell._name_fold(p_name));
    v_is_new := found;
    select p.* into v_old from stepwell.principal as p
    where p.tenant_id = p_tenant_id and p.name_key = stepwell._name_fold(p_name)
    for update;
    if v_old.kind <> p_kind then
        raise exception using errcode = 'SW003', column = p_field,
            message = format('%s is a %s; a %s needs another name', v_old.principal_name, v_old.kind, p_kind);
    end if;
    v_old_roles := stepwell._roles_of(p_tenant_id, v_old.principal_id);
    v_roles := coalesce((select array_agg(distinct x order by x) from unnest(p_roles) as x), case when p_roles is null then v_old_roles else '{}' end);
    update stepwell.principal as p set display_name = coalesce(p_display_name, p.display_name), is_active = p_is_active
    where p.tenant_id = p_tenant_id and p.principal_id = v_old.principal_id
        and (p.display_name, p.is_active) is distinct from (coalesce(p_display_name, p.display_name), p_is_active);
    delete from stepwell.principal_role as r
    where r.tenant_id = p_tenant_id and r.principal_id = v_old.principal_id and not r.role_name = any (v_roles);
    insert into stepwell.principal_role (tenant_id, principal_id, role_name)
    select p_tenant_id, v_old.principal_id, x.role_name from unnest(v_roles) as x (role_name)
    on conflict do nothing;
    if v_is_new or v_old.is_active <> p_is_active or v_old_roles <> v_roles then
        perform stepwell._event_append(p_tenant_id, 0, 'principal.changed', stepwell._caller_name(), jsonb_build_object(
            'name', v_old.principal_name, 'kind', p_kind, 'is_active', p_is_active, 'roles', v_roles));
    end if;
    return v_old.principal_id;
end
$$;

-- The roles of a principal, in order.
create or replace function stepwell._roles_of(p_tenant_id int, p_principal_id bigint) returns text[]
language sql stable
set search_path = stepwell, pg_temp
as $$
    select array(select r.role_name from stepwell.principal_role as r
        where r.tenant_id = p_tenant_id and r.principal_id = p_principal_id order by r.role_name)
$$;

-- Refuses a name that is not accepted.
-- Raises: SW001.
create or replace function stepwell._name_check(p_field text, p_name text) returns void
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
declare
    v_problem constant text := stepwell._name_problem(p_name);
begin
    if v_problem is not null then
        raise exception using errcode = 'SW001', column = p_field, message = format('%s: %s', p_field, v_problem);
    end if;
    perform stepwell._secret_refuse(p_field, p_name);
end
$$;

-- Stores every name in its tidy form, with its key and its skeleton; refuses one that looks like another. The unique
-- indexes hold when two sessions add names at the same time.
-- Raises: SW003 when another principal has this name or one that looks the same.
create or replace function stepwell._principal_name_set() returns trigger
language plpgsql
set search_path = stepwell, pg_temp
as $$
declare
    v_other text;
begin
    new.principal_name := stepwell._name_tidy(new.principal_name);
    new.name_key := stepwell._name_fold(new.principal_name);
    new.name_skeleton := stepwell._name_skeleton(new.principal_name);
    select p.principal_name into v_other from stepwell.principal as p
    where (p.tenant_id = new.tenant_id or (p.tenant_id = 0 and p.kind <> 'operator')) and p.principal_id <> new.principal_id
        and (p.name_key = new.name_key or p.name_skeleton = new.name_skeleton);
    if found then
        raise exception using errcode = 'SW003', column = 'name', message = format(
            '%s looks like %s, which exists; choose a name that people can tell apart', new.principal_name, v_other);
    end if;
    return new;
end
$$;
create or replace trigger names_can_be_told_apart
before insert or update of principal_name on stepwell.principal
for each row execute function stepwell._principal_name_set();

-- Why a stored name cannot have a key: it is not accepted, or looks like another one; null when it can.
create or replace function stepwell._name_refusal(p_tenant_id int, p_principal_id bigint, p_name text) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce(case when p_tenant_id <> 0 then stepwell._name_problem(p_name) end, (
        select format('it looks like %s', p.principal_name) from stepwell.principal as p
        where (p.tenant_id = p_tenant_id or (p.tenant_id = 0 and p.kind <> 'operator')) and p.principal_id <> p_principal_id
            and (p.name_key = stepwell._name_fold(p_name) or p.name_skeleton = stepwell._name_skeleton(p_name))
        order by p.tenant_id desc, p.principal_id limit 1))
$$;

-- Gives key and skeleton to the names of earlier releases: active ones first, then the oldest. Whoever has a name that is not
-- accepted any more, or that looks like one that has its key, keeps row, roles and history, but does not act until the name
-- is changed (fn_principal_rename); an event of the tenant tells why. The person of the development mode stays active: it
-- is the only one who can act there. Called after each migration. Returns who was made inactive.
create or replace function stepwell._names_settled() returns table (tenant_code text, principal_id bigint, principal_name text, reason text)
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_old record;
    v_reason text;
begin
    for v_old in
        select p.tenant_id, p.principal_id, p.principal_name, p.kind, p.is_active, exists (select from stepwell.development_mode as d
                where d.left_at is null and (d.tenant_id, d.principal_id) = (p.tenant_id, p.principal_id)) as is_developer
        from stepwell.principal as p
        where p.name_key is null
        order by p.tenant_id, p.is_active desc, p.principal_id
    loop
        v_reason := stepwell._name_refusal(v_old.tenant_id, v_old.principal_id, v_old.principal_name);
        if v_reason is null then
            update stepwell.principal as p set principal_name = p.principal_name
            where p.tenant_id = v_old.tenant_id and p.principal_id = v_old.principal_id;
        elsif v_old.is_active and not v_old.is_developer then
            update stepwell.principal as p set is_active = false
            where p.tenant_id = v_old.tenant_id and p.principal_id = v_old.principal_id;
            if v_old.tenant_id <> 0 then
                perform stepwell._event_append(v_old.tenant_id, 0, 'principal.changed', 'engine', jsonb_build_object(
                    'name', v_old.principal_name, 'kind', v_old.kind, 'is_active', false,
                    'roles', stepwell._roles_of(v_old.tenant_id, v_old.principal_id), 'reason', v_reason));
            end if;
            return query select (select t.tenant_code from stepwell.tenant as t where t.tenant_id = v_old.tenant_id),
                v_old.principal_id, stepwell._visible(v_old.principal_name), stepwell._visible(v_reason);
        end if;
    end loop;
end
$$;

-- Who cannot act because an earlier release stored a name that is not accepted any more; of all tenants.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_names_refused() returns table (tenant_code text, principal_id bigint, principal_name text, reason text)
language sql stable security definer
set search_path = stepwell, pg_temp
as $$
    select t.tenant_code, p.principal_id, stepwell._visible(p.principal_name),
        stepwell._visible(stepwell._name_refusal(p.tenant_id, p.principal_id, p.principal_name))
    from stepwell.principal as p
    inner join stepwell.tenant as t on p.tenant_id = t.tenant_id
    where p.name_key is null and not p.is_active
    order by t.tenant_code, p.principal_id
    limit 100
$$;

-- Gives another name to a principal whose name is not accepted any more. Id, roles, tokens and work in charge stay. The log
-- keeps the old name, and whoever has a new one is still behind what began under the old one (_people_of). The principal
-- stays inactive; fn_principal_change lets it act again. Every other name stays for ever.
-- p_name: the old name, or # and the number of the principal, for a name that nobody can type.
-- Locks: the row of the principal.
-- Idempotency: no; a repeat finds the old name no more.
-- Raises: SW001 when the new name is not accepted; SW002 when nobody has a refused name like this; SW003 when the old name
--   is accepted, or the new one looks like another; SW007 when the caller may not change principals, or for another tenant.
create or replace function stepwell.fn_principal_rename(p_tenant_id int, p_name text, p_new_name text) returns bigint
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_old stepwell.principal;
begin
    perform stepwell._verb_check(p_tenant_id, 'principal.change');
    perform stepwell._name_check('new_name', p_new_name);
    select p.* into v_old from stepwell.principal as p
    where p.tenant_id = p_tenant_id and p.name_key is null and p_name in (p.principal_name, '#' || p.principal_id)
    order by p.principal_name = p_name desc limit 1
    for update;
    if not found then
        if exists (select from stepwell.principal as p where p.tenant_id = p_tenant_id and p.name_key = stepwell._name_fold(p_name)) then
            raise exception using errcode = 'SW003', column = 'name',
                message = format('%s keeps its name: only a name that is not accepted any more can be changed', p_name);
        end if;
        raise exception using errcode = 'SW002', column = 'name', message = format('%s does not exist', coalesce(p_name, '(none)')),
            hint = 'stepwell doctor lists the names that are not accepted any more';
    end if;
    update stepwell.principal as p
    set principal_name = p_new_name, former_keys = p.former_keys || stepwell._name_fold(v_old.principal_name)
    where p.tenant_id = p_tenant_id and p.principal_id = v_old.principal_id;
    perform stepwell._event_append(p_tenant_id, 0, 'principal.changed', stepwell._caller_name(), jsonb_build_object(
        'name', stepwell._name_tidy(p_new_name), 'kind', v_old.kind, 'is_active', v_old.is_active,
        'roles', stepwell._roles_of(p_tenant_id, v_old.principal_id), 'former_name', v_old.principal_name));
    return v_old.principal_id;
end
$$;
