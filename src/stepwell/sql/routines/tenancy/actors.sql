-- Who acts, as the log names them. A function has a parameter for the actor because the owner of the schema acts for
-- others; from everybody else it is a claim, and it must be the bound principal.

-- The name of who acts, after the check that they may do this: the bound principal, with the channel of the claim. Who
-- acts for every tenant without a binding is believed, but a worker names nobody. In development mode the claim of an unbound caller binds, and a command
-- of an account that nobody added acts as the person of the mode.
-- Raises: SW007 when the claim names somebody else, when the verb is not allowed, or for another tenant.
create or replace function stepwell._actor_bound(p_tenant_id int, p_actor text, p_verb text) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_name text;
begin
    v_name := stepwell._verb_checked(p_tenant_id, p_verb, p_actor);
    if v_name is null then
        -- Programs that name nobody; to look for secrets in a name costs more than the rest.
        if p_actor is null or p_actor in ('client', 'api', 'engine') then
            return p_actor;
        end if;
        perform stepwell._actor_claim_check(p_tenant_id, p_actor);
        return stepwell._redact_text(p_actor);
    end if;
    -- To fold a name costs more than the rest; most callers write it as it is.
    if p_actor = v_name then
        return v_name;
    end if;
    if p_actor <> concat_ws(':', stepwell._actor_channel(p_actor), v_name)
        and stepwell._actor_plain(p_actor) <> coalesce((select p.name_key from stepwell.principal as p
            where p.tenant_id = p_tenant_id and p.principal_name = v_name), stepwell._name_fold(v_name)) then
        if (stepwell._binding()).token_id = 0 then
            if stepwell._actor_channel(p_actor) = 'cli' then
                return 'cli:' || v_name;
            end if;
            raise exception using errcode = 'SW007', column = 'actor', message = format('actor: nobody is called %s', p_actor),
                hint = coalesce(stepwell.fn_name_suggest(p_tenant_id, 'person', p_actor), 'add the person or the service first: stepwell user add NAME');
        end if;
        raise exception using errcode = 'SW007', column = 'actor',
            message = format('this transaction is bound to %s and cannot act as %s', v_name, p_actor);
    end if;
    return concat_ws(':', stepwell._actor_channel(p_actor), v_name);
end
$$;

-- A worker needs no binding and acts for nobody: of callers without one only the owner of the schema is believed when it
-- names somebody, and Slack, whose accounts the database knows.
-- Raises: SW007 when a worker names somebody of the tenant or an operator, outside development mode.
create or replace function stepwell._actor_claim_check(p_tenant_id int, p_actor text) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if not stepwell._is_worker() then
        return;
    end if;
    if exists (select from stepwell.principal as p where p.tenant_id in (0, p_tenant_id) and p.name_key = stepwell._actor_plain(p_actor)
            and (p.tenant_id <> 0 or p.kind = 'operator'))
        and not exists (select from stepwell.fn_mode_read() as m where m.mode = 'development') then
        raise exception using errcode = 'SW007', column = 'actor', message = format('a worker cannot act as %s', p_actor),
            hint = 'bind the transaction with a token of who acts';
    end if;
end
$$;

-- Whether the caller has the role of workers and is not the owner of the schema.
create or replace function stepwell._is_worker() returns boolean
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_owner constant oid := (select n.nspowner from pg_namespace as n where n.nspname = 'stepwell');
    v_worker constant oid := to_regrole('stepwell_worker')::oid;
    v_role constant name := nullif(current_setting('role'), 'none')::name;
begin
    return coalesce(pg_has_role(session_user, v_worker, 'member') and not pg_has_role(session_user, v_owner, 'member'), false)
        or coalesce(pg_has_role(v_role, v_worker, 'member') and not pg_has_role(v_role, v_owner, 'member'), false);
end
$$;

-- As _actor_bound, and the actor must be known: a principal of the tenant or of the whole database that is active. Who
-- uses the command line as the owner of the schema becomes an operator of that name.
-- Locks: the new row of an operator.
-- Raises: SW001 for a name that is not accepted; SW007 when nobody has this name; and as _actor_bound.
create or replace function stepwell._actor_known(p_tenant_id int, p_actor text, p_verb text) returns text
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_actor constant text := stepwell._actor_bound(p_tenant_id, p_actor, p_verb);
    v_channel constant text := stepwell._actor_channel(v_actor);
    v_key constant text := stepwell._actor_plain(v_actor);
    v_name text;
begin
    select p.principal_name into v_name from stepwell.principal as p
    where p.tenant_id in (0, p_tenant_id) and p.name_key = v_key and p.is_active and p.kind <> 'engine'
        and not (p.tenant_id = 0 and p.kind = 'worker')
    order by p.tenant_id desc limit 1;
    if not found then
        if v_channel is distinct from 'cli' or exists (select from stepwell.principal as p
            where p.tenant_id in (0, p_tenant_id) and p.name_key = v_key) then
            raise exception using errcode = 'SW007', column = 'actor',
                hint = coalesce(stepwell.fn_name_suggest(p_tenant_id, 'person', p_actor), 'add the person or the service first: stepwell user add NAME'),
                message = case when p_actor is null then 'actor: a name is required'
                    else format('actor: nobody is called %s', p_actor) end;
        end if;
        v_name := substr(v_actor, length(v_channel) + 2);
        if stepwell._name_problem(v_name) is not null then
            raise exception using errcode = 'SW001', column = 'actor', message = 'actor: ' || stepwell._name_problem(v_name);
        end if;
        insert into stepwell.principal (tenant_id, kind, principal_name, created_at)
        values (0, 'operator', v_name, stepwell.now())
        on conflict do nothing;
    end if;
    return concat_ws(':', v_channel, v_name);
end
$$;
