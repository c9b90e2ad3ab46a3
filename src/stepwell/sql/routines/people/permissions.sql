-- Who sees a step, and who reads the body of a content: rows of permission, set by whoever changes the rights of people.

-- Sets the roles that see a step of a workflow, in all its versions; none: everybody sees it.
-- Locks: the row of the workflow.
-- Idempotency: the same roles again change nothing.
-- Raises: SW001 for a role without a name; SW002 when there is no such workflow or step; SW006 for too many roles; SW007 when the
--   caller may not change principals, or for another tenant.
create or replace function stepwell.fn_step_permission_set(p_tenant_id int, p_workflow_name text, p_step_id text, p_roles text[])
returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_roles constant text[] := stepwell._permission_roles(p_tenant_id, p_roles);
    v_workflow_id int;
begin
    select w.workflow_id into v_workflow_id from stepwell.workflow_registry as w
    where w.tenant_id = p_tenant_id and w.workflow_name = p_workflow_name
    for no key update;
    if not found then
        raise exception using errcode = 'SW002', column = 'workflow', message = format('workflow %s is not published', p_workflow_name),
            hint = coalesce(stepwell.fn_name_suggest(p_tenant_id, 'workflow', p_workflow_name), '');
    end if;
    if not exists (select from stepwell.workflow_version as v
        inner join stepwell.workflow_step_def as d on v.tenant_id = d.tenant_id and v.version_id = d.version_id
        where v.tenant_id = p_tenant_id and v.workflow_id = v_workflow_id and d.step_id = p_step_id) then
        raise exception using errcode = 'SW002', column = 'step', message = format('workflow %s has no step %s', p_workflow_name, p_step_id);
    end if;
    if v_roles = array(select s.role_name from stepwell.workflow_step_permission as s where s.tenant_id = p_tenant_id
        and s.workflow_id = v_workflow_id and s.step_id = p_step_id order by s.role_name) then
        return;
    end if;
    delete from stepwell.workflow_step_permission as s
    where s.tenant_id = p_tenant_id and s.workflow_id = v_workflow_id and s.step_id = p_step_id and not s.role_name = any (v_roles);
    insert into stepwell.workflow_step_permission (tenant_id, workflow_id, step_id, role_name)
    select p_tenant_id, v_workflow_id, p_step_id, r.role_name from unnest(v_roles) as r (role_name)
    on conflict do nothing;
    perform stepwell._event_append(p_tenant_id, 0, 'permission.changed', stepwell._caller_name(), jsonb_build_object(
        'kind', 'step', 'name', p_workflow_name, 'step', p_step_id, 'roles', v_roles));
end
$$;

-- Sets the roles that read the body of a content, in all its versions; none: everybody reads it.
-- Locks: the row of the content.
-- Idempotency: the same roles again change nothing.
-- Raises: SW001 for a role without a name; SW002 when there is no such content; SW006 for too many roles; SW007 when the caller may
--   not change principals, or for another tenant.
create or replace function stepwell.fn_content_permission_set(p_tenant_id int, p_code text, p_roles text[]) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_roles constant text[] := stepwell._permission_roles(p_tenant_id, p_roles);
    v_iu_id bigint;
begin
    select u.iu_id into v_iu_id from stepwell.information_unit as u
    where u.tenant_id = p_tenant_id and u.iu_code = p_code
    for no key update;
    if not found then
        raise exception using errcode = 'SW002', column = 'content', message = format('content %s does not exist', p_code);
    end if;
    if v_roles = array(select c.role_name from stepwell.information_unit_permission as c
        where c.tenant_id = p_tenant_id and c.iu_id = v_iu_id order by c.role_name) then
        return;
    end if;
    delete from stepwell.information_unit_permission as c
    where c.tenant_id = p_tenant_id and c.iu_id = v_iu_id and not c.role_name = any (v_roles);
    insert into stepwell.information_unit_permission (tenant_id, iu_id, role_name)
    select p_tenant_id, v_iu_id, r.role_name from unnest(v_roles) as r (role_name)
    on conflict do nothing;
    perform stepwell._event_append(p_tenant_id, 0, 'permission.changed', stepwell._caller_name(), jsonb_build_object(
        'kind', 'content', 'name', p_code, 'roles', v_roles));
end
$$;

-- Every step and content that is not for everybody, with its roles.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW007 when the caller may not change principals, or for another tenant.
create or replace function stepwell.fn_permissions_read(p_tenant_id int)
returns table (kind text, name text, step_id text, roles text[])
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    perform stepwell._verb_check(p_tenant_id, 'principal.change');
    return query
    select 'step', w.workflow_name, s.step_id, array_agg(s.role_name order by s.role_name)
    from stepwell.workflow_step_permission as s
    inner join stepwell.workflow_registry as w on s.tenant_id = w.tenant_id and s.workflow_id = w.workflow_id
    where s.tenant_id = p_tenant_id
    group by w.workflow_name, s.step_id
    union all
    select 'content', u.iu_code, null, array_agg(c.role_name order by c.role_name)
    from stepwell.information_unit_permission as c
    inner join stepwell.information_unit as u on c.tenant_id = u.tenant_id and c.iu_id = u.iu_id
    where c.tenant_id = p_tenant_id
    group by u.iu_code
    order by 1 desc, 2, 3;
end
$$;

-- The roles in order, each once, after a check of who calls and of what is given.
-- Raises: SW001 for a role without a name; SW006 for too many roles; SW007 when the caller may not change principals.
create or replace function stepwell._permission_roles(p_tenant_id int, p_roles text[]) returns text[]
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._verb_check(p_tenant_id, 'principal.change');
    if p_roles is null or exists (select from unnest(p_roles) as r (role_name)
        where coalesce(btrim(r.role_name), '') = '' or length(r.role_name) > 200 or r.role_name ~ '[[:cntrl:]]') then
        raise exception using errcode = 'SW001', column = 'roles', message = 'roles: names of one line with 1 to 200 characters are accepted';
    end if;
    if cardinality(p_roles) > stepwell._limit('limits.step_roles') then
        raise exception using errcode = 'SW006', column = 'roles',
            message = format('roles: at most %s are accepted', stepwell._limit('limits.step_roles'));
    end if;
    perform stepwell._secret_refuse('roles', r.role_name) from unnest(p_roles) as r (role_name);
    return array(select distinct r.role_name from unnest(p_roles) as r (role_name) order by 1);
end
$$;
