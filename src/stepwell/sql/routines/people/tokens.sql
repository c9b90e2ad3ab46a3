-- Tokens: what a program or a signed-in person shows to be bound (fn_session_bind). The text of a token is returned once;
-- the database keeps only its hash.

-- Makes a token of a principal. It expires, and may be narrowed to some verbs. A caller without the right to make tokens
-- for others makes one for itself; a narrowed token makes no wider one.
-- Locks: the row of the principal.
-- Idempotency: each call makes another token.
-- Raises: SW001 for an unknown verb or a time that is not accepted; SW002 when there is no such principal; SW006 for too
--   many tokens; SW007 when the caller may not, or for another tenant.
create or replace function stepwell.fn_token_create(
    p_tenant_id int, p_principal_name text, p_label text, p_expires_seconds int, p_verbs text[] default null,
    p_kind text default 'api'
) returns table (token_id bigint, token text)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_token constant text := 'sw_' || encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex');
    v_principal_id bigint;
    v_token_id bigint;
begin
    p_label := stepwell._redact_text(p_label);
    perform stepwell._tenant_bound(p_tenant_id);
    select p.principal_id into v_principal_id from stepwell.principal as p
    where p.tenant_id = p_tenant_id and p.name_key = stepwell._name_fold(p_principal_name) and p.is_active
    for update;
    if not found then
        raise exception using errcode = 'SW002', column = 'principal_name',
            hint = coalesce(stepwell.fn_name_suggest(p_tenant_id, 'person', p_principal_name), 'add the person or service first'),
            message = format('%s does not exist', coalesce(p_principal_name, '(none)'));
    end if;
    if v_principal_id is distinct from stepwell.bound_principal() then
        perform stepwell._verb_check(p_tenant_id, 'token.change');
    end if;
    perform stepwell._token_check(p_tenant_id, v_principal_id, p_label, p_expires_seconds, p_verbs, p_kind);
    insert into stepwell.access_token (
        tenant_id, principal_id, kind, label, token_hash, verbs, created_at, created_by, expires_at)
    values (p_tenant_id, v_principal_id, p_kind, p_label, sha256(convert_to(v_token, 'UTF8')), p_verbs, v_now,
        stepwell._caller_name(), v_now + make_interval(secs => p_expires_seconds))
    returning access_token.token_id into v_token_id;
    perform stepwell._event_append(p_tenant_id, 0, 'token.created', stepwell._caller_name(), jsonb_strip_nulls(
        jsonb_build_object('token_id', v_token_id, 'name', p_principal_name, 'label', p_label, 'verbs', p_verbs,
            'expires_at', v_now + make_interval(secs => p_expires_seconds))));
    return query select v_token_id, v_token;
end
$$;

-- What is wrong with a token that somebody wants to make.
-- Raises: SW001 for a value that is not accepted; SW006 for too many tokens; SW007 when the token of the caller is
--   narrower.
create or replace function stepwell._token_check(
    p_tenant_id int, p_principal_id bigint, p_label text, p_expires_seconds int, p_verbs text[], p_kind text
) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_most constant int := stepwell._limit('limits.token_seconds');
    v_count constant int := stepwell._limit('limits.tokens_per_principal');
    v_unknown constant text := (select string_agg(v.verb, ', ') from unnest(p_verbs) as v (verb)
        where not exists (select from stepwell.verb as k where k.verb = v.verb));
begin
    if coalesce(length(p_label), 0) not between 1 and 200 or p_kind is distinct from 'api' then
        raise exception using errcode = 'SW001', column = 'label',
            message = 'label: 1 to 200 characters that tell what the token is for; kind: api (a session is opened by fn_sign_in)';
    end if;
    if p_expires_seconds is null or p_expires_seconds not between 1 and v_most then
        raise exception using errcode = 'SW001', column = 'expires_seconds',
            message = format('expires_seconds: 1 to %s are accepted', v_most);
    end if;
    if v_unknown is not null or p_verbs = '{}' then
        raise exception using errcode = 'SW001', column = 'verbs', message = format('verbs: %s; accepted are %s',
            coalesce(v_unknown || ' is unknown', 'at least one is required'),
            (select string_agg(k.verb, ', ' order by k.verb) from stepwell.verb as k));
    end if;
    -- The token that binds this transaction may have ended since; and what a program holds ends when it should.
    if exists (select from stepwell._binding() as b
        inner join stepwell.access_token as t on b.tenant_id = t.tenant_id and b.token_id = t.token_id
        where t.revoked_at is not null or t.expires_at <= stepwell.now()) then
        raise exception using errcode = 'SW007', column = 'token', message = 'the token of this transaction has expired or is revoked';
    end if;
    if not stepwell._verb_allowed('token.change') and exists (select from stepwell._binding() as b
        inner join stepwell.access_token as t on b.tenant_id = t.tenant_id and b.token_id = t.token_id
        where t.kind = 'api' and t.expires_at < stepwell.now() + make_interval(secs => p_expires_seconds)) then
        raise exception using errcode = 'SW007', column = 'expires_seconds',
            message = 'expires_seconds: a token cannot make a token that lasts longer; the verb token.change allows it';
    end if;
    if exists (select from stepwell._binding() as b
        inner join stepwell.access_token as t on b.tenant_id = t.tenant_id and b.token_id = t.token_id
        where t.verbs is not null and (p_verbs is null or not p_verbs <@ t.verbs)) then
        raise exception using errcode = 'SW007', column = 'verbs', message = 'verbs: a narrowed token can only make a token that is as narrow';
    end if;
    if (select count(*) from stepwell.access_token as t where t.tenant_id = p_tenant_id and t.principal_id = p_principal_id
            and t.revoked_at is null and t.expires_at > stepwell.now()) >= v_count then
        raise exception using errcode = 'SW006', message = format('at most %s tokens are accepted; revoke one first', v_count);
    end if;
end
$$;

-- Revokes a token: it binds nothing any more.
-- Locks: the row of the token.
-- Idempotency: a revoked token stays revoked, and false is returned.
-- Raises: SW002 when there is no such token; SW007 when it belongs to somebody else and the caller may not, or for
--   another tenant.
create or replace function stepwell.fn_token_revoke(p_tenant_id int, p_token_id bigint) returns boolean
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_token record;
begin
    perform stepwell._tenant_bound(p_tenant_id);
    select t.principal_id, t.revoked_at, p.principal_name into v_token
    from stepwell.access_token as t
    inner join stepwell.principal as p on t.tenant_id = p.tenant_id and t.principal_id = p.principal_id
    where t.tenant_id = p_tenant_id and t.token_id = p_token_id
    for update of t;
    if not found then
        raise exception using errcode = 'SW002', column = 'token_id', message = format('token %s does not exist', p_token_id);
    end if;
    if v_token.principal_id is distinct from stepwell.bound_principal() then
        perform stepwell._verb_check(p_tenant_id, 'token.change');
    end if;
    if v_token.revoked_at is not null then
        return false;
    end if;
    update stepwell.access_token as t set revoked_at = stepwell.now(), revoked_by = stepwell._caller_name()
    where t.tenant_id = p_tenant_id and t.token_id = p_token_id;
    perform stepwell._event_append(p_tenant_id, 0, 'token.revoked', stepwell._caller_name(),
        jsonb_build_object('token_id', p_token_id, 'name', v_token.principal_name));
    return true;
end
$$;

-- The tokens of a tenant without their text, or those of one principal; the newest first.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW007 when the caller may not see the tokens of others, or for another tenant.
create or replace function stepwell.fn_tokens_read(p_tenant_id int, p_principal_name text default null, p_limit int default 100)
returns table (
    token_id bigint, principal_name text, principal_kind text, kind text, label text, verbs text[], created_at timestamptz,
    created_by text, expires_at timestamptz, revoked_at timestamptz, is_valid boolean
)
language sql stable security definer
set search_path = stepwell, pg_temp
as $$
    select t.* from stepwell.fn_tokens_page(p_tenant_id, p_principal_name, null, p_limit) as t
$$;

-- The same, page by page: the tokens with lower numbers than p_before. Everybody sees their own.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW007 when the caller may not see the tokens of others, or for another tenant.
create or replace function stepwell.fn_tokens_page(p_tenant_id int, p_principal_name text, p_before bigint, p_limit int)
returns table (
    token_id bigint, principal_name text, principal_kind text, kind text, label text, verbs text[], created_at timestamptz,
    created_by text, expires_at timestamptz, revoked_at timestamptz, is_valid boolean
)
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._own_or_others(p_tenant_id, p_principal_name);
    return query
    select t.token_id, p.principal_name, p.kind, t.kind, t.label, t.verbs, t.created_at, t.created_by, t.expires_at, t.revoked_at,
        t.revoked_at is null and t.expires_at > stepwell.now() and p.is_active
    from stepwell.access_token as t
    inner join stepwell.principal as p on t.tenant_id = p.tenant_id and t.principal_id = p.principal_id
    where t.tenant_id = p_tenant_id and t.kind = 'api' and (p_before is null or t.token_id < p_before)
        and (p_principal_name is null or p.name_key = stepwell._name_fold(p_principal_name))
    order by t.token_id desc
    limit least(greatest(p_limit, 1), stepwell._limit('limits.page_size'));
end
$$;
