-- The sessions of people who signed in. A session is a token (fn_session_bind) that also ends when nobody uses it.

-- Ends the session of this transaction: its text binds nothing any more. Returns whether there was one.
-- Locks: the row of the session.
-- Idempotency: yes.
-- Raises: nothing.
create or replace function stepwell.fn_sign_out() returns boolean
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_principal stepwell.principal;
    v_token_id bigint;
begin
    v_token_id := (stepwell._binding()).token_id;
    select p.* into v_principal from stepwell._binding() as b
    inner join stepwell.principal as p on b.tenant_id = p.tenant_id and b.principal_id = p.principal_id;
    return found and stepwell._sign_ins_end(v_principal, null, v_token_id) > 0;
end
$$;

-- The sessions of one person, the newest first: one's own, or with the right to change tokens those of somebody else.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW007 when the caller may not see the sessions of others, or for another tenant.
create or replace function stepwell.fn_sessions_read(p_tenant_id int, p_principal_name text, p_limit int default 100)
returns table (
    token_id bigint, principal_name text, created_at timestamptz, last_seen_at timestamptz, ends_at timestamptz,
    address text, user_agent text, is_current boolean, is_valid boolean
)
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._own_or_others(p_tenant_id, p_principal_name);
    return query
    select t.token_id, p.principal_name, t.created_at, t.last_seen_at,
        coalesce(t.revoked_at, least(t.expires_at, t.last_seen_at + make_interval(secs => t.idle_seconds))), t.address, t.user_agent,
        t.token_id = (select b.token_id from stepwell._binding() as b),
        t.revoked_at is null and p.is_active
            and least(t.expires_at, t.last_seen_at + make_interval(secs => t.idle_seconds)) > stepwell.now()
    from stepwell.access_token as t
    inner join stepwell.principal as p on t.tenant_id = p.tenant_id and t.principal_id = p.principal_id
    where t.tenant_id = p_tenant_id and t.kind = 'session' and p.name_key = stepwell._name_fold(p_principal_name)
    order by t.token_id desc
    limit least(greatest(p_limit, 1), stepwell._limit('limits.page_size'));
end
$$;

-- Ends all sessions of a person: one's own, or with the right to change tokens those of somebody else. The session of this
-- transaction can be kept. Returns how many ended.
-- Locks: the rows of the sessions.
-- Idempotency: yes.
-- Raises: SW002 when there is no such person; SW007 when the caller may not, or for another tenant.
create or replace function stepwell.fn_sessions_revoke(
    p_tenant_id int, p_principal_name text, p_keeps_current boolean default false
) returns int
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._own_or_others(p_tenant_id, p_principal_name);
    return stepwell._sign_ins_end(stepwell._account_lock(p_tenant_id, p_principal_name),
        case when p_keeps_current then (select b.token_id from stepwell._binding() as b) end);
end
$$;

-- Refuses to touch the sessions of somebody else without the right to change tokens.
-- Raises: SW007.
create or replace function stepwell._own_or_others(p_tenant_id int, p_principal_name text) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._tenant_bound(p_tenant_id);
    if stepwell.bound_principal() is distinct from (select p.principal_id from stepwell.principal as p
        where p.tenant_id = p_tenant_id and p.name_key = stepwell._name_fold(p_principal_name)) then
        perform stepwell._verb_check(p_tenant_id, 'token.change');
    end if;
end
$$;

-- Ends the open sessions of a principal, except the one to keep, or only the one given; an event for each.
-- Locks: the rows of the sessions.
create or replace function stepwell._sign_ins_end(
    p_principal stepwell.principal, p_keep_id bigint default null, p_only_id bigint default null
) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_ended record;
    v_count int := 0;
begin
    for v_ended in
        update stepwell.access_token as t set revoked_at = stepwell.now(), revoked_by = stepwell._caller_name()
        where t.tenant_id = p_principal.tenant_id and t.principal_id = p_principal.principal_id and t.kind = 'session'
            and t.revoked_at is null and t.expires_at > stepwell.now() and t.token_id is distinct from p_keep_id
            and (p_only_id is null or t.token_id = p_only_id)
        returning t.token_id
    loop
        perform stepwell._event_append(p_principal.tenant_id, 0, 'session.ended', stepwell._caller_name(),
            jsonb_build_object('token_id', v_ended.token_id, 'name', p_principal.principal_name));
        v_count := v_count + 1;
    end loop;
    return v_count;
end
$$;

-- What the bound principal may do, by its roles and its token. Who acts for every tenant may do everything; without a binding
-- there is nothing.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_verbs_read() returns table (verb text, description text)
language sql stable security definer
set search_path = stepwell, pg_temp
as $$
    select v.verb, v.description from stepwell.verb as v
    where stepwell._verb_allowed(v.verb)
        or (coalesce(current_setting('stepwell.binding', true), '') = '' and stepwell._acts_for_all())
    order by v.verb
$$;

-- Who is bound: the name, the kind, the tenant, the roles, what they and the token allow, and when a session ends.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing; without a binding there is no row.
create or replace function stepwell.fn_account_read() returns table (
    name text, kind text, title text, tenant text, roles text[], verbs text[], token_id bigint, token_kind text, ends_at timestamptz
)
language sql stable security definer
set search_path = stepwell, pg_temp
as $$
    select p.principal_name, p.kind, p.display_name, n.tenant_code, stepwell._roles_of(p.tenant_id, p.principal_id),
        array(select v.verb from stepwell.verb as v where stepwell._verb_allowed(v.verb) order by v.verb), t.token_id, t.kind,
        least(t.expires_at, t.last_seen_at + make_interval(secs => t.idle_seconds))
    from stepwell._binding() as b
    inner join stepwell.principal as p on b.tenant_id = p.tenant_id and b.principal_id = p.principal_id
    inner join stepwell.tenant as n on b.tenant_id = n.tenant_id
    inner join stepwell.access_token as t on b.tenant_id = t.tenant_id and b.token_id = t.token_id
$$;

-- The roles that exist in a tenant, what each allows, and how many accounts have it. The role everybody is that of every account.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW007 when the caller may not read, or for another tenant.
create or replace function stepwell.fn_roles_read(p_tenant_id int) returns table (role_name text, verbs text[], account_count int)
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._verb_check(p_tenant_id, 'read');
    return query
    select r.name, array(select distinct a.verb from stepwell.permission as a
            where a.tenant_id in (0, p_tenant_id) and a.role_name = r.name order by a.verb),
        (select count(*)::int from stepwell.principal_role as p
            inner join stepwell.principal as o on p.tenant_id = o.tenant_id and p.principal_id = o.principal_id and o.is_active
            where p.tenant_id = p_tenant_id and p.role_name = r.name)
    from (
        select a.role_name as name from stepwell.permission as a where a.tenant_id in (0, p_tenant_id)
        union
        select p.role_name from stepwell.principal_role as p where p.tenant_id = p_tenant_id
    ) as r
    order by r.name
    limit stepwell._limit('limits.page_size');
end
$$;
