-- Links that work once: the first administrator, who has forgotten a password, and the person of the development mode. The
-- database keeps only the hash of a link.

-- Makes a link for somebody. Earlier links of the same person stop working. The link of the first administrator gives the role
-- admin; only the owner of the schema makes it, and only while no administrator has a password. A link that signs in without
-- a password is for the person of the development mode, and only the owner makes it.
-- Locks: the row of the principal.
-- Idempotency: each call makes another link.
-- Raises: SW001 for an unknown purpose or a time that is not accepted; SW002 when there is no such person; SW003 when there is
--   an administrator with a password; SW007 when the caller may not, or for another tenant.
create or replace function stepwell.fn_link_create(
    p_tenant_id int, p_principal_name text, p_purpose text default 'password_reset', p_expires_seconds int default 86400
) returns table (link text, expires_at timestamptz)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_most constant int := stepwell._limit('limits.link_seconds');
    v_link constant text := 'swl_' || encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex');
    v_until constant timestamptz := stepwell.now() + make_interval(secs => p_expires_seconds);
    v_principal stepwell.principal;
begin
    perform stepwell._verb_check(p_tenant_id, 'token.change');
    if p_purpose is null or p_purpose not in ('first_administrator', 'password_reset', 'sign_in') then
        raise exception using errcode = 'SW001', column = 'purpose',
            message = 'purpose: first_administrator, password_reset or sign_in is accepted';
    end if;
    if p_expires_seconds is null or p_expires_seconds not between 1 and v_most then
        raise exception using errcode = 'SW001', column = 'expires_seconds', message = format('expires_seconds: 1 to %s are accepted', v_most);
    end if;
    if p_purpose = 'first_administrator' then
        perform stepwell._first_administrator(p_tenant_id, p_principal_name);
    elsif p_purpose = 'sign_in' then
        perform stepwell._development_person(p_tenant_id, p_principal_name);
    end if;
    v_principal := stepwell._account_lock(p_tenant_id, p_principal_name);
    if v_principal.kind <> 'person' then
        raise exception using errcode = 'SW003', column = 'principal_name', hint = 'make a token with stepwell token create',
            message = format('%s is a %s; only people sign in', v_principal.principal_name, v_principal.kind);
    end if;
    delete from stepwell.credential as c
    where c.tenant_id = p_tenant_id and c.principal_id = v_principal.principal_id and c.kind = 'link' and c.used_at is null;
    insert into stepwell.credential (tenant_id, principal_id, kind, purpose, secret_hash, created_at, created_by, expires_at)
    values (p_tenant_id, v_principal.principal_id, 'link', p_purpose, encode(sha256(convert_to(v_link, 'UTF8')), 'hex'),
        stepwell.now(), stepwell._caller_name(), v_until);
    perform stepwell._event_append(p_tenant_id, 0, 'link.created', stepwell._caller_name(), jsonb_build_object(
        'name', v_principal.principal_name, 'purpose', p_purpose, 'expires_at', v_until));
    return query select v_link, v_until;
end
$$;

-- Adds the first administrator, or gives the role admin to somebody who exists.
-- Raises: SW003 when an administrator has a password; SW007 for everybody but the owner of the schema.
create or replace function stepwell._first_administrator(p_tenant_id int, p_name text) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_other text;
begin
    perform stepwell._operator_check('makes the first administrator');
    select p.principal_name into v_other
    from stepwell.principal as p
    inner join stepwell.principal_role as r on p.tenant_id = r.tenant_id and p.principal_id = r.principal_id and r.role_name = 'admin'
    inner join stepwell.credential as c on p.tenant_id = c.tenant_id and p.principal_id = c.principal_id and c.kind = 'password'
    where p.tenant_id = p_tenant_id and p.is_active
    limit 1;
    if found then
        raise exception using errcode = 'SW003', hint = 'ask this person for the role, or for a link to a new password',
            message = format('%s is an administrator and has a password', v_other);
    end if;
    perform stepwell._principal_set(p_tenant_id, 'person', 'principal_name', p_name, array['admin'] || coalesce((
        select stepwell._roles_of(p.tenant_id, p.principal_id) from stepwell.principal as p
        where p.tenant_id = p_tenant_id and p.name_key = stepwell._name_fold(p_name)), '{}'), null, true);
end
$$;

-- Refuses a link that signs in for everybody but the person of the development mode.
-- Raises: SW003 for somebody else, or in another mode; SW007 for everybody but the owner of the schema.
create or replace function stepwell._development_person(p_tenant_id int, p_name text) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if coalesce(current_setting('stepwell.binding', true), '') <> '' then
        raise exception using errcode = 'SW007', message = 'only the owner of the schema makes a link that signs in';
    end if;
    if not exists (select from stepwell.fn_mode_read() as m
        where m.mode = 'development' and m.tenant_id = p_tenant_id and stepwell._name_fold(m.person) = stepwell._name_fold(p_name)) then
        raise exception using errcode = 'SW003', column = 'purpose', hint = 'make a link to a new password',
            message = 'purpose: a link signs in only the person of the development mode';
    end if;
end
$$;

-- Uses a link and opens a session. With a hash the link sets the password of the person it was made for, and ends their other
-- sessions; without one it is the link of the development mode. Nobody need be bound.
-- Locks: the link and the row of the principal.
-- Idempotency: a link works once.
-- Raises: SW001 for a text that is no argon2id hash; SW007 when the link is unknown, was used or has expired, has the other
--   purpose, or development mode was left.
create or replace function stepwell.fn_link_enter(
    p_link text, p_secret_hash text default null, p_address text default null, p_user_agent text default null
) returns table (token text, token_id bigint, tenant_id int, principal_name text, expires_at timestamptz)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_purposes constant text[] := case when p_secret_hash is null then array['sign_in'] else array['first_administrator', 'password_reset'] end;
    v_principal constant stepwell.principal := stepwell._link_take(p_link, v_purposes);
    v_session record;
begin
    if p_secret_hash is not null then
        perform stepwell._password_store(v_principal, p_secret_hash);
    elsif not exists (select from stepwell.fn_mode_read() as m where m.mode = 'development') then
        raise exception using errcode = 'SW007', column = 'link', message = 'the link signs in only in development mode';
    end if;
    select s.* into v_session
    from stepwell._session_open(v_principal.tenant_id, v_principal.principal_id, p_address, p_user_agent) as s;
    perform stepwell._event_append(v_principal.tenant_id, 0, 'session.opened', v_principal.principal_name, jsonb_strip_nulls(
        jsonb_build_object('token_id', v_session.token_id, 'name', v_principal.principal_name, 'address', left(stepwell._redact_text(p_address), 100))));
    return query select v_session.token, v_session.token_id, v_principal.tenant_id, v_principal.principal_name, v_session.expires_at;
end
$$;

-- Takes a link for one of these purposes: it works no more. Returns whom it was made for.
-- Locks: the link and the row of the principal.
-- Raises: SW007 when the link is unknown, was used, has expired or has another purpose, or its person is not active.
create or replace function stepwell._link_take(p_link text, p_purposes text[]) returns stepwell.principal
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_link stepwell.credential;
    v_principal stepwell.principal;
begin
    select c.* into v_link from stepwell.credential as c
    where c.kind = 'link' and c.secret_hash = encode(sha256(convert_to(p_link, 'UTF8')), 'hex')
        and c.used_at is null and c.expires_at > stepwell.now() and c.purpose = any (p_purposes)
    for update;
    if found then
        select p.* into v_principal from stepwell.principal as p
        where p.tenant_id = v_link.tenant_id and p.principal_id = v_link.principal_id and p.is_active
        for update;
    end if;
    if not found then
        raise exception using errcode = 'SW007', column = 'link', message = 'the link is unknown, was used or has expired';
    end if;
    update stepwell.credential as c set used_at = stepwell.now()
    where c.tenant_id = v_link.tenant_id and c.credential_id = v_link.credential_id;
    perform stepwell._event_append(v_link.tenant_id, 0, 'link.used', v_principal.principal_name,
        jsonb_build_object('name', v_principal.principal_name, 'purpose', v_link.purpose));
    return v_principal;
end
$$;

-- Uses a link: sets the password of the person it was made for, and ends their sessions. Nobody need be bound.
-- Locks: the link and the row of the principal.
-- Idempotency: a link works once.
-- Raises: SW001 for a text that is no argon2id hash; SW007 when the link is unknown, was used or has expired, or its person is
--   not active.
create or replace function stepwell.fn_link_use(p_link text, p_secret_hash text) returns table (tenant_id int, principal_name text)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_principal constant stepwell.principal := stepwell._link_take(p_link, array['first_administrator', 'password_reset']);
begin
    perform stepwell._password_store(v_principal, p_secret_hash);
    return query select v_principal.tenant_id, v_principal.principal_name;
end
$$;
