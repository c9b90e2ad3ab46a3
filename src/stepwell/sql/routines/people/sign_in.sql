-- Signing in. The server computes the argon2id hash of the password with the salt that the database gives, and the database
-- compares. So no application role reads a stored hash, and none can open a session without the password.

-- The beginning of the argon2id hash of somebody's password: parameters and salt. A name that does not exist gets a salt as
-- well, always the same one, so that nobody learns which names exist.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_sign_in_salt(p_tenant text, p_name text) returns text
language sql stable security definer
set search_path = stepwell, pg_temp
as $$
    select coalesce(
        (select regexp_replace(c.secret_hash, '\$[^$]*$', '')
        from stepwell.credential as c
        inner join stepwell.principal as p on c.tenant_id = p.tenant_id and c.principal_id = p.principal_id
        inner join stepwell.tenant as t on p.tenant_id = t.tenant_id
        where t.tenant_code = p_tenant and p.name_key = stepwell._name_fold(p_name) and p.is_active and c.kind = 'password'),
        (select (select d.config_value #>> '{}' from stepwell.dot_config as d where d.config_key = 'sign_in.argon2id') || '$'
            || rtrim(encode(substr(sha256(k.secret || convert_to(concat_ws(':', p_tenant, stepwell._name_fold(p_name)), 'UTF8')), 1, 16),
                'base64'), '=')
        from stepwell.binding_key as k))
$$;

-- Opens a session for who knows the password. The answer is signed_in with the text of the session, which is shown once;
-- refused; or paused until retry_at after too many wrong passwords. A refusal is an answer and no error, because it must be
-- counted.
-- Locks: the counters of the address and of the name at this address.
-- Idempotency: each call opens another session.
-- Raises: nothing.
create or replace function stepwell.fn_sign_in(
    p_tenant text, p_name text, p_secret_hash text, p_address text default null, p_user_agent text default null
) returns table (
    outcome text, token text, token_id bigint, tenant_id int, principal_name text, expires_at timestamptz, retry_at timestamptz
)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := stepwell.now();
    v_address constant text := stepwell._address_key(p_address);
    v_tenant_id constant int := (select t.tenant_id from stepwell.tenant as t where t.tenant_code = p_tenant);
    v_found record;
    v_session record;
    v_paused_until timestamptz;
begin
    select p.principal_id, p.principal_name, p.name_key, c.secret_hash into v_found
    from stepwell.principal as p
    left join stepwell.credential as c on p.tenant_id = c.tenant_id and p.principal_id = c.principal_id and c.kind = 'password'
    where p.tenant_id = v_tenant_id and p.name_key = stepwell._name_fold(p_name) and p.is_active;
    v_paused_until := stepwell._sign_in_pause(v_tenant_id, v_found.name_key, v_address);
    if v_paused_until is not null then
        return query select 'paused', null::text, null::bigint, null::int, null::text, null::timestamptz, v_paused_until;
        return;
    end if;
    if v_found.secret_hash is null or sha256(convert_to(v_found.secret_hash, 'UTF8')) is distinct from sha256(convert_to(p_secret_hash, 'UTF8')) then
        v_paused_until := stepwell._sign_in_failed(v_tenant_id, v_found.name_key, v_address);
        if v_tenant_id is not null then
            perform stepwell._event_append(v_tenant_id, 0, 'session.refused', coalesce(v_found.principal_name, 'nobody'), jsonb_strip_nulls(
                -- A name that nobody has may be a password in the wrong field: the log does not keep it.
                jsonb_build_object('name', coalesce((select p.principal_name from stepwell.principal as p
                    where p.tenant_id = v_tenant_id and p.name_key = stepwell._name_fold(p_name)), ''), 'address', left(stepwell._redact_text(p_address), 100), 'paused_until', v_paused_until)));
        end if;
        return query select 'refused', null::text, null::bigint, null::int, null::text, null::timestamptz, v_paused_until;
        return;
    end if;
    insert into stepwell.sign_in_throttle as s (tenant_id, name_key, address, signed_in_at)
    values (v_tenant_id, v_found.name_key, v_address, v_now)
    on conflict on constraint sign_in_throttle_pkey do update set failure_count = 0, blocked_until = null, failed_at = null, signed_in_at = v_now;
    select s.* into v_session from stepwell._session_open(v_tenant_id, v_found.principal_id, p_address, p_user_agent) as s;
    perform stepwell._event_append(v_tenant_id, 0, 'session.opened', v_found.principal_name, jsonb_strip_nulls(jsonb_build_object(
        'token_id', v_session.token_id, 'name', v_found.principal_name, 'address', left(stepwell._redact_text(p_address), 100))));
    return query select 'signed_in', v_session.token, v_session.token_id, v_tenant_id, v_found.principal_name, v_session.expires_at,
        null::timestamptz;
end
$$;

-- Opens a session. Its text is returned once.
-- Locks: the new row.
create or replace function stepwell._session_open(p_tenant_id int, p_principal_id bigint, p_address text, p_user_agent text)
returns table (token_id bigint, token text, expires_at timestamptz)
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := stepwell.now();
    v_token constant text := 'sws_' || encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex');
begin
    return query
    insert into stepwell.access_token as t (tenant_id, principal_id, kind, label, token_hash, created_at, created_by, expires_at,
        last_seen_at, idle_seconds, address, user_agent)
    select p_tenant_id, p_principal_id, 'session', 'session', sha256(convert_to(v_token, 'UTF8')), v_now, p.principal_name,
        v_now + make_interval(secs => stepwell._limit('session.seconds')), v_now, stepwell._limit('session.idle_seconds'),
        left(stepwell._redact_text(p_address), 100), left(stepwell._redact_text(p_user_agent), 400)
    from stepwell.principal as p
    where p.tenant_id = p_tenant_id and p.principal_id = p_principal_id
    returning t.token_id, v_token, t.expires_at;
end
$$;

-- An address as wrong passwords are counted: an IPv6 address by its network of 64 bits, because one caller has all of it.
create or replace function stepwell._address_key(p_address text) returns text
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
begin
    return coalesce(case when family(p_address::inet) = 6 then network(set_masklen(p_address::inet, 64))::text
        else host(p_address::inet) end, 'unknown');
exception when others then
    return coalesce(lower(left(btrim(stepwell._redact_text(p_address)), 100)), 'unknown');
end
$$;

-- Until when this name at this address, or the whole address, is refused; null when it is not. Who signed in from the address
-- lately is not paused by the failures of others there.
-- Locks: both counters, the address first.
create or replace function stepwell._sign_in_pause(p_tenant_id int, p_name_key text, p_address text) returns timestamptz
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_whole timestamptz;
    v_own record;
begin
    select s.blocked_until into v_whole from stepwell.sign_in_throttle as s
    where s.tenant_id = 0 and s.name_key = '' and s.address = p_address and s.blocked_until > stepwell.now()
    for update;
    select s.blocked_until, s.signed_in_at into v_own from stepwell.sign_in_throttle as s
    where s.tenant_id = p_tenant_id and s.name_key = p_name_key and s.address = p_address
    for update;
    if v_own.signed_in_at > stepwell.now() - make_interval(secs => stepwell._limit('sign_in.known_seconds')) then
        v_whole := null;
    end if;
    return (select max(u) from unnest(array[v_whole, v_own.blocked_until]) as u where u > stepwell.now());
end
$$;

-- Counts a wrong password, for the address and, if the name exists, for the name at it. Returns until when a pause lasts that
-- begins now. Counters that nobody needs any more are removed.
-- Locks: both counters, the address first.
create or replace function stepwell._sign_in_failed(p_tenant_id int, p_name_key text, p_address text) returns timestamptz
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_window constant interval := make_interval(secs => stepwell._limit('sign_in.window_seconds'));
    v_row record;
    v_until timestamptz;
begin
    for v_row in
        select x.tenant_id, x.name_key, stepwell._limit(x.setting) as most
        from (values (0, '', 'sign_in.failures_of_an_address'), (p_tenant_id, p_name_key, 'sign_in.failures_of_a_name'))
            as x (tenant_id, name_key, setting)
        where x.name_key is not null
        order by x.tenant_id
    loop
        insert into stepwell.sign_in_throttle as s (tenant_id, name_key, address, failure_count, failed_at)
        values (v_row.tenant_id, v_row.name_key, p_address, 1, v_now)
        on conflict on constraint sign_in_throttle_pkey do update set failed_at = v_now,
            failure_count = case when s.failed_at > v_now - v_window then s.failure_count else 0 end + 1;
        update stepwell.sign_in_throttle as s set blocked_until = v_now + make_interval(secs => least(
            stepwell._limit('sign_in.pause_seconds_most'),
            stepwell._limit('sign_in.pause_seconds') * power(2, least(s.failure_count - v_row.most, 20))))
        where s.tenant_id = v_row.tenant_id and s.name_key = v_row.name_key and s.address = p_address and s.failure_count >= v_row.most
        returning greatest(v_until, s.blocked_until) into v_until;
    end loop;
    delete from stepwell.sign_in_throttle as s using (
        select o.tenant_id, o.name_key, o.address from stepwell.sign_in_throttle as o
        where o.failed_at < v_now - interval '1 day' and o.signed_in_at is null
        limit 100 for update skip locked) as o
    where s.tenant_id = o.tenant_id and s.name_key = o.name_key and s.address = o.address;
    return v_until;
end
$$;

-- Sets the password of somebody: the argon2id hash that the server computed. Everybody changes their own in a session; the
-- passwords of others require the right to change tokens. All other sessions of the person end.
-- Locks: the row of the principal.
-- Idempotency: the same hash again changes nothing more.
-- Raises: SW001 for a text that is no argon2id hash, or too weak; SW002 when there is no such person; SW007 when the caller may
--   not, or for another tenant.
create or replace function stepwell.fn_password_set(p_tenant_id int, p_principal_name text, p_secret_hash text) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_principal stepwell.principal;
begin
    perform stepwell._tenant_bound(p_tenant_id);
    v_principal := stepwell._account_lock(p_tenant_id, p_principal_name);
    if not exists (select from stepwell._binding() as b
        inner join stepwell.access_token as t on b.tenant_id = t.tenant_id and b.token_id = t.token_id
        where b.principal_id = v_principal.principal_id and t.kind = 'session') then
        perform stepwell._verb_check(p_tenant_id, 'token.change');
    end if;
    perform stepwell._password_store(v_principal, p_secret_hash);
end
$$;

-- Stores a password, tells it, and ends the sessions of the person except the one of this transaction.
-- Locks: the caller holds the row of the principal.
-- Raises: SW001 for a text that is no argon2id hash, or too weak.
create or replace function stepwell._password_store(p_principal stepwell.principal, p_secret_hash text) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_parts constant text[] := regexp_match(p_secret_hash,
        '^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$[A-Za-z0-9+/]{22,86}\$[A-Za-z0-9+/]{43,86}$');
begin
    if v_parts is null or v_parts[1]::int < 19456 or v_parts[2]::int < 2 then
        raise exception using errcode = 'SW001', column = 'secret_hash',
            message = 'secret_hash: an argon2id hash with at least 19456 KiB and 2 passes is accepted';
    end if;
    insert into stepwell.credential (tenant_id, principal_id, kind, secret_hash, created_at, created_by)
    values (p_principal.tenant_id, p_principal.principal_id, 'password', p_secret_hash, stepwell.now(), stepwell._caller_name())
    on conflict (tenant_id, principal_id) where kind = 'password'
    do update set secret_hash = excluded.secret_hash, created_at = excluded.created_at, created_by = excluded.created_by;
    perform stepwell._event_append(p_principal.tenant_id, 0, 'credential.changed', stepwell._caller_name(),
        jsonb_build_object('name', p_principal.principal_name));
    perform stepwell._sign_ins_end(p_principal, (select b.token_id from stepwell._binding() as b));
end
$$;

-- The row of an active account, locked.
-- Locks: this row.
-- Raises: SW002 when there is none.
create or replace function stepwell._account_lock(p_tenant_id int, p_name text) returns stepwell.principal
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_found stepwell.principal;
begin
    select p.* into v_found from stepwell.principal as p
    where p.tenant_id = p_tenant_id and p.name_key = stepwell._name_fold(p_name) and p.is_active
    for update;
    if not found then
        raise exception using errcode = 'SW002', column = 'principal_name',
            hint = coalesce(stepwell.fn_name_suggest(p_tenant_id, 'person', p_name), 'add the person or service first'),
            message = format('%s does not exist', coalesce(p_name, '(none)'));
    end if;
    return v_found;
end
$$;
