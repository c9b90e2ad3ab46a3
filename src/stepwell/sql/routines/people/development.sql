-- Development mode begins with the database, and ends when somebody leaves it.

-- Enters development mode: adds one person with all roles, who acts where nobody is bound. Called by the migration of a
-- database that Stepwell itself created. A database that is in use, or that was in the mode before, stays as it is.
-- Locks: the new rows.
create or replace function stepwell._development_enter(p_account text) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_tenant_id constant int := (select t.tenant_id from stepwell.tenant as t where t.tenant_code = 'default');
    v_name text := stepwell._name_tidy(p_account);
    v_principal_id bigint;
begin
    if v_tenant_id is null or exists (select from stepwell.development_mode) or exists (select from stepwell.event_log)
        or exists (select from stepwell.principal as p where p.tenant_id <> 0) then
        return;
    end if;
    if stepwell._name_problem(v_name) is not null or exists (select from stepwell.principal as p
        where p.name_skeleton = stepwell._name_skeleton(v_name)) then
        v_name := 'developer';
    end if;
    v_principal_id := stepwell._principal_set(v_tenant_id, 'person', 'name', v_name,
        array(select distinct a.role_name from stepwell.permission as a where a.role_name <> 'everybody'), null, true);
    insert into stepwell.development_mode (tenant_id, principal_id, entered_at)
    values (v_tenant_id, v_principal_id, stepwell.now());
    perform stepwell._event_append(v_tenant_id, 0, 'development.entered', 'engine', jsonb_build_object('person', v_name));
end
$$;

-- Leaves development mode. From then on nobody acts without a binding, and cancels and replays require an approval. The
-- mode cannot be entered again. Only the owner of the schema may call it. Returns whether this call left the mode.
-- Locks: the row of the mode.
-- Idempotency: a database in strict mode stays as it is, and false is returned.
-- Raises: SW001 for a name that is not accepted; SW007 when nobody has the name of the actor.
create or replace function stepwell.fn_development_leave(p_actor text) returns boolean
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_mode record;
    v_actor text;
begin
    select d.tenant_id, p.principal_name into v_mode
    from stepwell.development_mode as d
    inner join stepwell.principal as p on d.tenant_id = p.tenant_id and d.principal_id = p.principal_id
    where d.left_at is null
    for update of d;
    if not found then
        return false;
    end if;
    v_actor := stepwell._actor_known(v_mode.tenant_id, p_actor, 'principal.change');
    update stepwell.development_mode as d set left_at = stepwell.now(), left_by = v_actor where d.left_at is null;
    perform stepwell._event_append(v_mode.tenant_id, 0, 'development.left', v_actor, jsonb_build_object('person', v_mode.principal_name));
    return true;
end
$$;
