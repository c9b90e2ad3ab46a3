-- Triggers over HTTP: a system that cannot hold a token, such as a ticket tool, signs its requests with a secret. Each trigger
-- starts runs of one workflow, or sends one type of event to a run of it. It acts as a principal, with a token of its own that
-- nobody knows: so revoking that token stops it, and whoever made it is behind what it starts.

-- HMAC-SHA-256 (RFC 2104): core PostgreSQL has only the hash.
create or replace function stepwell._hmac_sha256(p_key bytea, p_message bytea) returns bytea
language plpgsql immutable strict
set search_path = stepwell, pg_temp
as $$
declare
    v_inner bytea := decode(repeat('36', 64), 'hex');
    v_outer bytea := decode(repeat('5c', 64), 'hex');
    v_key constant bytea := case when length(p_key) > 64 then sha256(p_key) else p_key end;
begin
    for i in 0 .. length(v_key) - 1 loop
        v_inner := set_byte(v_inner, i, get_byte(v_inner, i) # get_byte(v_key, i));
        v_outer := set_byte(v_outer, i, get_byte(v_outer, i) # get_byte(v_key, i));
    end loop;
    return sha256(v_outer || sha256(v_inner || p_message));
end
$$;

-- Makes a trigger, or makes it again with a new address and secret; then the old ones stop working. Both are returned once.
-- Settings: workflow; as, who acts; expires_seconds; ref_path, a path to the sender's number of the request in its body, so that
-- it is done once; input_path, the part of the body that is the input or the payload; event_type and key_path, to send an event
-- to the run with the key at that path.
-- Locks: the row of the trigger; the row of the principal.
-- Idempotency: each call makes another address and secret.
-- Raises: SW001 for a setting that is not accepted; SW002 when the workflow or the principal does not exist; SW006 for too many
--   triggers; SW007 when the caller may not, or for another tenant.
create or replace function stepwell.fn_trigger_set(p_tenant_id int, p_name text, p_settings jsonb)
returns table (address text, secret text)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_address constant text := 'swt_' || encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex');
    v_secret constant text := encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex');
    v_workflow constant text := p_settings ->> 'workflow';
    v_token record;
begin
    perform stepwell._verb_check(p_tenant_id, 'token.change');
    perform stepwell._trigger_check(p_tenant_id, p_name, p_settings);
    perform stepwell._startable_find(p_tenant_id, v_workflow, null);
    delete from stepwell.http_trigger as t where t.tenant_id = p_tenant_id and t.trigger_name = p_name;
    perform stepwell.fn_token_revoke(p_tenant_id, a.token_id)
    from stepwell.access_token as a
    where a.tenant_id = p_tenant_id and a.label = 'trigger ' || p_name and a.revoked_at is null;
    select k.* into v_token from stepwell.fn_token_create(p_tenant_id, p_settings ->> 'as', 'trigger ' || p_name,
        coalesce((p_settings ->> 'expires_seconds')::int, 31536000), array['run.start']) as k;
    insert into stepwell.http_trigger (tenant_id, trigger_name, address, secret, token_id, workflow_name, event_type, ref_path,
        key_path, input_path, created_at, created_by)
    values (p_tenant_id, p_name, v_address, convert_to(v_secret, 'UTF8'), v_token.token_id, v_workflow, p_settings ->> 'event_type',
        p_settings ->> 'ref_path', p_settings ->> 'key_path', p_settings ->> 'input_path', stepwell.now(), stepwell._caller_name());
    perform stepwell._event_append(p_tenant_id, 0, 'trigger.created', stepwell._caller_name(), jsonb_strip_nulls(jsonb_build_object(
        'name', p_name, 'workflow', v_workflow, 'acts_as', p_settings ->> 'as', 'event_type', p_settings ->> 'event_type')));
    return query select v_address, v_secret;
end
$$;

-- What is wrong with a trigger that somebody wants to make. Paths are plain: keys and subscripts.
-- Raises: SW001 for a value that is not accepted; SW006 for too many triggers.
create or replace function stepwell._trigger_check(p_tenant_id int, p_name text, p_settings jsonb) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_most constant int := stepwell._limit('limits.triggers');
    v_known constant text[] := array['workflow', 'as', 'expires_seconds', 'ref_path', 'input_path', 'event_type', 'key_path'];
    v_wrong text;
begin
    if p_name is null or p_name !~ '^[a-z0-9][a-z0-9._-]{0,99}$' then
        raise exception using errcode = 'SW001', column = 'name',
            message = 'name: up to 100 lowercase letters, digits, dots, dashes and underscores are accepted';
    end if;
    select k.name into v_wrong from jsonb_object_keys(p_settings) as k (name) where k.name <> all (v_known) order by k.name limit 1;
    if v_wrong is not null then
        raise exception using errcode = 'SW001', column = v_wrong,
            message = format('%s is not a setting of a trigger; accepted are %s', v_wrong, array_to_string(v_known, ', '));
    end if;
    select k.name into v_wrong from jsonb_each_text(p_settings) as k (name, given)
    where k.name like '%\_path' and (length(k.given) > 500 or not stepwell._path_is_plain(k.given)) order by k.name limit 1;
    if v_wrong is not null then
        raise exception using errcode = 'SW001', column = v_wrong,
            message = format('%s: a path of keys and subscripts is accepted, such as $.incident.sys_id', v_wrong);
    end if;
    if (p_settings ->> 'event_type' is null) <> (p_settings ->> 'key_path' is null) then
        raise exception using errcode = 'SW001', column = 'key_path',
            message = 'event_type and key_path go together: an event needs the key of its run';
    end if;
    if p_settings ->> 'workflow' is null or p_settings ->> 'as' is null then
        raise exception using errcode = 'SW001', column = case when p_settings ->> 'as' is null then 'as' else 'workflow' end,
            message = 'workflow and as are required: what is started, and who acts';
    end if;
    if coalesce(p_settings ->> 'expires_seconds', '1') !~ '^[0-9]{1,9}$' then
        raise exception using errcode = 'SW001', column = 'expires_seconds', message = 'expires_seconds: a whole number is accepted';
    end if;
    if (select count(*) from stepwell.http_trigger as t where t.tenant_id = p_tenant_id and t.trigger_name <> p_name) >= v_most then
        raise exception using errcode = 'SW006', message = format('at most %s triggers are accepted', v_most);
    end if;
end
$$;

-- Deletes a trigger and revokes its token.
-- Locks: the row of the trigger and of its token.
-- Idempotency: false when there is none.
-- Raises: SW007 when the caller may not, or for another tenant.
create or replace function stepwell.fn_trigger_delete(p_tenant_id int, p_name text) returns boolean
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_token_id bigint;
begin
    perform stepwell._verb_check(p_tenant_id, 'token.change');
    delete from stepwell.http_trigger as t where t.tenant_id = p_tenant_id and t.trigger_name = p_name
    returning t.token_id into v_token_id;
    if not found then
        return false;
    end if;
    perform stepwell.fn_token_revoke(p_tenant_id, v_token_id);
    perform stepwell._event_append(p_tenant_id, 0, 'trigger.deleted', stepwell._caller_name(), jsonb_build_object('name', p_name));
    return true;
end
$$;

-- The triggers of a tenant, without address and secret.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW007 when the caller may not, or for another tenant.
create or replace function stepwell.fn_triggers_read(p_tenant_id int)
returns table (
    trigger_name text, workflow_name text, event_type text, ref_path text, key_path text, input_path text, acts_as text,
    created_at timestamptz, created_by text, expires_at timestamptz, is_valid boolean
)
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._verb_check(p_tenant_id, 'read');
    return query
    select t.trigger_name, t.workflow_name, t.event_type, t.ref_path, t.key_path, t.input_path, p.principal_name, t.created_at,
        t.created_by, a.expires_at, a.revoked_at is null and a.expires_at > stepwell.now() and p.is_active
    from stepwell.http_trigger as t
    inner join stepwell.access_token as a on t.tenant_id = a.tenant_id and t.token_id = a.token_id
    inner join stepwell.principal as p on a.tenant_id = p.tenant_id and a.principal_id = p.principal_id
    where t.tenant_id = p_tenant_id
    order by t.trigger_name;
end
$$;

-- A signed request arrives. The signature is HMAC-SHA-256 with the secret over the time of signing, a dot, and the body. The
-- number of the request is the value at ref_path, else p_delivery, else the hash of the body; a second request with the same number
-- changes nothing and gets the same answer. Returns the run, whether this request started it, and for an event whether it was accepted.
-- Locks: as fn_run_start or fn_signal.
-- Idempotency: by the number of the request.
-- Raises: SW001 for a body that is no JSON object or lacks a value; SW002 when the address or the run is unknown; SW007 when the
--   signature is wrong or too old, or the trigger may not act any more; and what fn_run_start or fn_signal raises.
create or replace function stepwell.fn_trigger_fire(
    p_address text, p_signed_at bigint, p_signature text, p_body bytea, p_delivery text default null
) returns table (run_id bigint, is_new boolean)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_trigger record;
    v_body jsonb;
    v_input jsonb;
    v_ref text;
    v_actor text;
begin
    select t.*, a.token_hash into v_trigger
    from stepwell.http_trigger as t
    inner join stepwell.access_token as a on t.tenant_id = a.tenant_id and t.token_id = a.token_id
    where t.address = p_address;
    if not found then
        raise exception using errcode = 'SW002', column = 'address', message = 'no trigger has this address';
    end if;
    -- The hashes are compared, so that the time of the comparison tells nothing about the signature.
    if sha256(convert_to(lower(coalesce(p_signature, '')), 'UTF8')) <> sha256(convert_to(encode(stepwell._hmac_sha256(
            v_trigger.secret, convert_to(p_signed_at || '.', 'UTF8') || p_body), 'hex'), 'UTF8')) then
        raise exception using errcode = 'SW007', column = 'signature', message = 'the signature of the request is wrong';
    end if;
    if abs(extract(epoch from stepwell.now()) - p_signed_at) > stepwell._limit('limits.trigger_age_seconds') then
        raise exception using errcode = 'SW007', column = 'signature', message = 'the request was signed too long ago, or in the future';
    end if;
    select 'hook:' || b.principal_name into v_actor from stepwell._token_bound(v_trigger.token_hash) as b;
    v_body := stepwell._trigger_body(p_body);
    v_input := coalesce(stepwell._trigger_value(v_body, v_trigger.input_path, 'input_path'), v_body);
    if jsonb_typeof(v_input) <> 'object' then
        raise exception using errcode = 'SW001', column = 'body', message = 'body: the input of the run must be a JSON object';
    end if;
    v_ref := coalesce(stepwell._trigger_value(v_body, v_trigger.ref_path, 'ref_path') #>> '{}', p_delivery, encode(sha256(p_body), 'hex'));
    if v_trigger.event_type is null then
        return query
        select s.run_id, s.is_new from stepwell.fn_run_start(v_trigger.tenant_id, v_trigger.workflow_name, array[v_input], array[v_ref],
            'http:' || v_trigger.trigger_name, v_actor) as s;
        return;
    end if;
    return query select f.run_id, s.accepted
    from stepwell._trigger_run(v_trigger.tenant_id, v_trigger.workflow_name,
        stepwell._trigger_value(v_body, v_trigger.key_path, 'key_path') #>> '{}') as f (run_id)
    cross join lateral stepwell.fn_signal(v_trigger.tenant_id, f.run_id, v_trigger.event_type, v_input,
        'http:' || v_trigger.trigger_name || ':' || v_ref, v_actor) as s;
end
$$;

-- The body of a request as JSON.
-- Raises: SW001 when it is none.
create or replace function stepwell._trigger_body(p_body bytea) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return convert_from(p_body, 'UTF8')::jsonb;
exception
    when invalid_text_representation or character_not_in_repertoire or untranslatable_character or statement_too_complex
        or numeric_value_out_of_range then
        raise exception using errcode = 'SW001', column = 'body', message = 'body: a JSON document is required';
end
$$;

-- The value at a plain path, null without a path.
-- Raises: SW001 when the body has no value there.
create or replace function stepwell._trigger_value(p_body jsonb, p_path text, p_name text) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_found record;
begin
    if p_path is null then
        return null;
    end if;
    select e.result into v_found from stepwell._path_evaluate(p_body, p_path, false, true) as e;
    if v_found.result is null or v_found.result = 'null' then
        raise exception using errcode = 'SW001', column = 'body', message = format('body: there is no value at %s (%s)', p_path, p_name);
    end if;
    return v_found.result;
end
$$;

-- The run of a workflow with this key.
-- Raises: SW002 when there is none.
create or replace function stepwell._trigger_run(p_tenant_id int, p_workflow_name text, p_key text) returns bigint
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_run_id bigint;
begin
    select r.run_id into v_run_id from stepwell.run_detail as r
    where r.tenant_id = p_tenant_id and r.trigger_type = p_workflow_name and r.trigger_ref = p_key;
    if not found then
        raise exception using errcode = 'SW002', column = 'body', message = format('workflow %s has no run with the key %s', p_workflow_name, p_key);
    end if;
    return v_run_id;
end
$$;
