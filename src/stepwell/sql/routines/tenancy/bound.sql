-- Who acts in a transaction, and for which tenant. A token binds principal and tenant to one transaction. Every role can
-- write a setting, so the setting alone proves nothing: it carries a stamp, a keyed hash that only the functions of
-- tenancy/stamps.sql can make. The stamp belongs to one backend and one transaction, so a pooler may give the connection to anybody after
-- it. A transaction without a binding acts for no tenant, unless it belongs to the owner of the schema or to a worker.

-- Binds this transaction to the principal and the tenant of a token: the session of somebody who signed in, or the token of a
-- program. A session also ends when nobody uses it. Behind a pooler in transaction mode, call it in the
-- same transaction as what follows. Returns whom the token belongs to.
-- Locks: the row of a session, if it is free.
-- Idempotency: the same token again binds the same; another token replaces the binding.
-- Raises: SW003 for a transaction that may write and is not read committed; SW007 when the token is unknown, has expired or
--   is revoked, or its principal is not active.
create or replace function stepwell.fn_session_bind(p_token text)
returns table (tenant_id int, principal_id bigint, principal_name text)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_bound record;
begin
    v_bound := stepwell._token_bound(sha256(convert_to(p_token, 'UTF8')));
    tenant_id := v_bound.tenant_id;
    principal_id := v_bound.principal_id;
    principal_name := v_bound.principal_name;
    return next;
end
$$;

-- The same for the hash of a token: a trigger over HTTP has proved in another way that it may act with its token. What the
-- principal may read is found out here, once for the transaction, and is part of the stamp: so it costs the statements
-- nothing. A transaction with one snapshot would not see that its token is revoked, that a role is taken away or who voted
-- meanwhile, so it must be read only.
-- Raises: SW003 for a transaction that may write and is not read committed; SW007 as fn_session_bind.
create or replace function stepwell._token_bound(
    p_token_hash bytea, out tenant_id int, out principal_id bigint, out principal_name text, out token_id bigint
)
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_kind text;
    v_setting text;
begin
    if current_setting('transaction_isolation') <> 'read committed' and current_setting('transaction_read_only') = 'off' then
        perform stepwell._level_refuse();
    end if;
    -- One statement, because each costs a few microseconds in every bound transaction.
    select t.tenant_id, t.principal_id, p.principal_name, t.token_id, t.kind, b.bound || stepwell._stamp_with(k.secret, b.bound)
    into tenant_id, principal_id, principal_name, token_id, v_kind, v_setting
    from stepwell.access_token as t
    inner join stepwell.principal as p on t.tenant_id = p.tenant_id and t.principal_id = p.principal_id
    cross join lateral stepwell._reads_at(t.tenant_id, t.principal_id, t.verbs) as r (reads)
    cross join lateral (select stepwell._bound_text(t.tenant_id, t.principal_id, t.token_id, r.reads) as bound) as b
    cross join stepwell.binding_key as k
    where t.token_hash = p_token_hash and t.revoked_at is null and t.expires_at > v_now and p.is_active and k.only_one
        and (t.kind <> 'session' or t.last_seen_at + make_interval(secs => t.idle_seconds) > v_now);
    if not found then
        raise exception using errcode = 'SW007', column = 'token', message = 'the token is unknown, has expired or is revoked';
    end if;
    perform set_config('stepwell.binding', v_setting, true);
    if v_kind = 'session' and current_setting('transaction_read_only') = 'off' then
        perform stepwell._session_seen(tenant_id, token_id);
    end if;
end
$$;

-- Refuses a transaction that would not see the end of its token.
-- Raises: SW003.
create or replace function stepwell._level_refuse() returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    raise exception using errcode = 'SW003', hint = 'begin isolation level read committed',
        message = format('a transaction that changes something is bound at the level read committed, not at %s',
            current_setting('transaction_isolation'));
end
$$;

-- Stores that a session is used, once in a while, so that most requests of a session write nothing. Another request of the
-- same session that stores it now is not waited for.
-- Locks: the row of the session, if it is free.
create or replace function stepwell._session_seen(p_tenant_id int, p_token_id bigint) returns void
language sql volatile
set search_path = stepwell, pg_temp
as $$
    update stepwell.access_token as t set last_seen_at = stepwell.now()
    from (
        select s.token_id from stepwell.access_token as s
        where s.tenant_id = p_tenant_id and s.token_id = p_token_id
            and s.last_seen_at <= stepwell.now() - make_interval(secs => stepwell._limit('session.seen_seconds'))
        for update skip locked) as s
    where t.tenant_id = p_tenant_id and t.token_id = s.token_id
$$;

-- The tenant that this transaction is bound to; null when it is bound to none.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.bound_tenant() returns int
language plpgsql stable parallel restricted security definer
set search_path = stepwell, pg_temp
as $$
begin
    return split_part(stepwell._bound(), ':', 1)::int;
end
$$;

-- The principal that this transaction is bound to; null when it is bound to none.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.bound_principal() returns bigint
language plpgsql stable parallel restricted security definer
set search_path = stepwell, pg_temp
as $$
begin
    return split_part(stepwell._bound(), ':', 2)::bigint;
end
$$;

-- The tenant whose rows this transaction may read: the bound one, if its principal and its token allow `read`. Row level
-- security compares with it.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.read_tenant() returns int
language plpgsql stable parallel restricted security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_setting constant text := coalesce(current_setting('stepwell.binding', true), '');
begin
    if v_setting = '' then
        return split_part(stepwell._bound(), ':', 1)::int;
    end if;
    -- As _bound, without two more calls: a statement reads this for each of its tables.
    return case when right(v_setting, 64) = (select stepwell._stamp_with(k.secret, left(v_setting, -64))
            from stepwell.binding_key as k where k.only_one)
        and split_part(v_setting, ':', 4) in ('1', '3', '5', '7') then split_part(v_setting, ':', 1)::int end;
end
$$;

-- The tenant whose payloads this transaction may read: the bound one, if its principal and its token allow `payload.read`;
-- 0, every tenant, for a caller that needs no binding. Null: none.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.payload_tenant() returns int
language plpgsql stable parallel restricted security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_bound text;
begin
    if coalesce(current_setting('stepwell.binding', true), '') = '' and stepwell._acts_for_all() then
        return 0;
    end if;
    v_bound := stepwell._bound();
    return case when split_part(v_bound, ':', 4) in ('3', '7') then split_part(v_bound, ':', 1)::int end;
end
$$;

-- Whether the caller acts for every tenant without a binding: the owner of the schema, and the processes that serve all
-- tenants: workers, whose calls are fenced by their session, keepers, and what speaks with Slack. Each of them can call
-- only what _function_rights lists. Functions that change something run as the owner, so the caller is known by session
-- and role.
create or replace function stepwell._acts_for_all() returns boolean
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_owner constant oid := (select n.nspowner from pg_namespace as n where n.nspname = 'stepwell');
    v_role constant name := current_setting('role')::name;
begin
    if v_role = 'none' and pg_has_role(session_user, v_owner, 'member') then
        return true;
    end if;
    return (pg_has_role(session_user, v_owner, 'member')
            or coalesce(pg_has_role(session_user, to_regrole('stepwell_worker')::oid, 'member'), false)
            or coalesce(pg_has_role(session_user, to_regrole('stepwell_keeper')::oid, 'member'), false)
            or coalesce(pg_has_role(session_user, to_regrole('stepwell_slack')::oid, 'member'), false))
        and (v_role = 'none' or pg_has_role(v_role, v_owner, 'member')
            or coalesce(pg_has_role(v_role, to_regrole('stepwell_worker')::oid, 'member'), false)
            or coalesce(pg_has_role(v_role, to_regrole('stepwell_keeper')::oid, 'member'), false)
            or coalesce(pg_has_role(v_role, to_regrole('stepwell_slack')::oid, 'member'), false));
end
$$;

-- Refuses to act for another tenant than the transaction is bound to. Functions that change something run as their
-- owner, so row level security does not hold in them; they call this first. In development mode an unbound caller is bound
-- here, to whom it names.
-- Raises: SW003 when the transaction may write and is not read committed; SW007 when it is bound to another tenant, or to none.
create or replace function stepwell._tenant_bound(p_tenant_id int, p_actor text default null) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_setting constant text := coalesce(current_setting('stepwell.binding', true), '');
    v_bound int;
begin
    if v_setting = '' and stepwell._acts_for_all() then
        return;
    end if;
    -- Only the binding of the development mode has the token 0: it follows whom the caller names.
    if v_setting = '' or (p_actor is not null and split_part(v_setting, ':', 3) = '0' and stepwell._bound() is not null) then
        perform stepwell._development_bind(p_actor);
        v_bound := stepwell.bound_tenant();
    elsif right(v_setting, 64) = (select stepwell._stamp_with(k.secret, left(v_setting, -64))
        from stepwell.binding_key as k where k.only_one) then
        -- As bound_tenant, without three more calls: every call that changes something comes here.
        v_bound := split_part(v_setting, ':', 1)::int;
        -- It was bound while it was read only, and is not any more: the end of a savepoint takes `read only` back.
        if current_setting('transaction_isolation') <> 'read committed' and current_setting('transaction_read_only') = 'off'
            and split_part(v_setting, ':', 3) <> '0' then
            perform stepwell._level_refuse();
        end if;
    end if;
    if v_bound is null then
        raise exception using errcode = 'SW007', message = 'this transaction is bound to no tenant',
            hint = 'give a token (STEPWELL_TOKEN), or call stepwell.fn_session_bind in the same transaction';
    end if;
    if v_bound <> p_tenant_id or p_tenant_id is null then
        raise exception using errcode = 'SW007', message = format(
            'this transaction is bound to tenant %s and cannot act for tenant %s', v_bound, p_tenant_id);
    end if;
end
$$;

-- Binds this transaction in development mode, as fn_session_bind does for a token: to whom the caller names, if the tenant of
-- the mode knows the name, else to the person of the mode. Nobody has a token there, so a name is enough. Nothing is bound in
-- any other mode.
create or replace function stepwell._development_bind(p_actor text) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._binding_set(n.tenant_id, n.principal_id, 0, n.reads)
    from (
        select p.tenant_id, p.principal_id, stepwell._reads_of(p.tenant_id, p.principal_id, null) as reads
        from stepwell.development_mode as d
        inner join stepwell.principal as p on d.tenant_id = p.tenant_id and p.is_active
            and (p.principal_id = d.principal_id or (p.name_key = stepwell._actor_plain(p_actor) and p.kind <> 'engine'))
        where d.left_at is null and exists (select from stepwell.principal as o
            where o.tenant_id = d.tenant_id and o.principal_id = d.principal_id and o.is_active)
        order by p.principal_id = d.principal_id
        limit 1) as n;
end
$$;

-- Binds this transaction, where there is no token. _token_bound does the same in one statement with the look at the token.
create or replace function stepwell._binding_set(p_tenant_id int, p_principal_id bigint, p_token_id bigint, p_reads int) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_bound constant text := stepwell._bound_text(p_tenant_id, p_principal_id, p_token_id, p_reads);
begin
    perform set_config('stepwell.binding', v_bound || stepwell._stamp_of(v_bound), true);
end
$$;

-- Refuses whoever is not the operator of the installation: the owner of the schema, or the person of the development mode.
-- Raises: SW007.
create or replace function stepwell._operator_check(p_what text) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if coalesce(current_setting('stepwell.binding', true), '') = '' and stepwell._acts_for_all() then
        return;
    end if;
    if not exists (select from stepwell._binding() as b
        inner join stepwell.development_mode as d on b.tenant_id = d.tenant_id and b.principal_id = d.principal_id
        where b.token_id = 0 and d.left_at is null) then
        raise exception using errcode = 'SW007', message = format('only the owner of the schema %s', p_what),
            hint = 'connect with the role that migrates';
    end if;
end
$$;

-- Refuses a caller whose roles do not allow this verb, or whose token is narrowed to others. Who acts for every tenant
-- may do everything.
-- Raises: SW007 when the verb is not allowed, or for another tenant.
create or replace function stepwell._verb_check(p_tenant_id int, p_verb text, p_actor text default null) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._verb_checked(p_tenant_id, p_verb, p_actor);
end
$$;

-- The same; returns the name of the bound principal, or null where nobody is bound.
-- Raises: as _verb_check.
create or replace function stepwell._verb_checked(p_tenant_id int, p_verb text, p_actor text) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_setting text;
    v_name text;
begin
    perform stepwell._tenant_bound(p_tenant_id, p_actor);
    -- Its stamp has just been read.
    v_setting := coalesce(current_setting('stepwell.binding', true), '');
    if v_setting = '' then
        return null;
    end if;
    v_name := stepwell._allowed_name(p_tenant_id, split_part(v_setting, ':', 2)::bigint, split_part(v_setting, ':', 3)::bigint, p_verb);
    if v_name is null then
        raise exception using errcode = 'SW007', message = format(
            '%s: neither the roles nor the token of %s allow this; roles that allow it: %s', p_verb,
            (select p.principal_name from stepwell.principal as p
                where p.tenant_id = p_tenant_id and p.principal_id = split_part(v_setting, ':', 2)::bigint),
            coalesce((select string_agg(distinct a.role_name, ', ' order by a.role_name) from stepwell.permission as a
                where a.tenant_id in (0, p_tenant_id) and a.verb = p_verb), 'none'));
    end if;
    return v_name;
end
$$;

-- Whether the bound principal may do this; false when nobody is bound.
create or replace function stepwell._verb_allowed(p_verb text) returns boolean
language plpgsql stable parallel restricted
set search_path = stepwell, pg_temp
as $$
declare
    v_bound constant text := stepwell._bound();
begin
    return stepwell._allowed_name(split_part(v_bound, ':', 1)::int, split_part(v_bound, ':', 2)::bigint,
        split_part(v_bound, ':', 3)::bigint, p_verb) is not null;
end
$$;

-- The name of a principal who may do this with a token, else null: one of its roles in the tenant has the verb, its token is
-- not narrowed to others, and both are still valid: a long transaction does nothing more after its token is revoked. Token 0
-- is that of the development mode.
create or replace function stepwell._allowed_name(p_tenant_id int, p_principal_id bigint, p_token_id bigint, p_verb text)
returns text
language plpgsql stable parallel restricted
set search_path = stepwell, pg_temp
as $$
begin
    return (
        select p.principal_name from stepwell.principal as p
        where p.tenant_id = p_tenant_id and p.principal_id = p_principal_id and p.is_active
            and (p_token_id = 0 or exists (select from stepwell.access_token as t
                where t.tenant_id = p_tenant_id and t.token_id = p_token_id and t.revoked_at is null and t.expires_at > stepwell.now()
                    and (t.verbs is null or p_verb = any (t.verbs))))
            and exists (select from stepwell.permission as a
                where a.tenant_id in (0, p_tenant_id) and a.verb = p_verb
                    and a.role_name = any (text 'everybody' || array(select r.role_name from stepwell.principal_role as r
                        where r.tenant_id = p_tenant_id and r.principal_id = p_principal_id))));
end
$$;

-- The name of whoever calls, for the log: the bound principal, or the database user of the owner.
create or replace function stepwell._caller_name() returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce((select p.principal_name from stepwell._binding() as b
        inner join stepwell.principal as p on b.tenant_id = p.tenant_id and b.principal_id = p.principal_id),
        'owner:' || session_user)
$$;
