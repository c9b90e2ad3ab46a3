-- One request over HTTP is one transaction. fn_request_open binds it, checks its verb and finds the answer of an earlier
-- request with the same key; fn_request_close keeps its answer. Both belong to the transaction of what the request does.

-- Binds this transaction to whom the token belongs to, sets its time limits, and checks that the verb is allowed. With a key
-- the outcome is new; repeat, with the kept answer; or other, when the key belongs to another request. A request with the same
-- key that is under way is waited for.
-- Locks: the row of the key; the row of a session, if it is free.
-- Idempotency: the same token again binds the same.
-- Raises: SW007 as fn_session_bind, or when the verb is not allowed; 55P03 when the request with the same key takes too long.
create or replace function stepwell.fn_request_open(
    p_token text, p_verb text, p_key text default null, p_digest bytea default null
) returns table (
    tenant_id int, principal_id bigint, principal_name text, outcome text, status int, "position" text, answer text
)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_bound record;
    v_kept stepwell.http_answer;
begin
    perform set_config('statement_timeout', stepwell._limit('limits.request_milliseconds')::text, true),
        set_config('lock_timeout', stepwell._limit('limits.request_lock_milliseconds')::text, true);
    v_bound := stepwell._token_bound(sha256(convert_to(p_token, 'UTF8')));
    -- It is bound just now: only a refusal needs the whole check, for its sentence.
    if p_verb is not null
        and stepwell._allowed_name(v_bound.tenant_id, v_bound.principal_id, v_bound.token_id, p_verb) is null then
        perform stepwell._verb_check(v_bound.tenant_id, p_verb);
    end if;
    if p_key is not null then
        insert into stepwell.http_answer (tenant_id, principal_id, idempotency_key, request_digest, made_at)
        values (v_bound.tenant_id, v_bound.principal_id, p_key, p_digest, stepwell.now())
        on conflict on constraint http_answer_pkey do nothing;
        if not found then
            select a.* into v_kept from stepwell.http_answer as a
            where a.tenant_id = v_bound.tenant_id and a.principal_id = v_bound.principal_id and a.idempotency_key = p_key;
        end if;
    end if;
    return query select v_bound.tenant_id, v_bound.principal_id, v_bound.principal_name,
        case when v_kept.idempotency_key is null then 'new' when v_kept.request_digest = p_digest then 'repeat' else 'other' end,
        v_kept.status, v_kept.position, v_kept.answer;
end
$$;

-- Keeps the answer of this request for repeats, if it has a key. Returns the position that the request reached in the log.
-- Locks: the row of the key.
-- Idempotency: yes.
-- Raises: SW007 when nobody is bound.
create or replace function stepwell.fn_request_close(p_key text default null, p_status int default null, p_answer text default null)
returns text
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_position constant text := pg_current_xact_id()::text;
    v_bound record;
begin
    if p_key is not null then
        v_bound := stepwell._binding();
        perform stepwell._tenant_bound(v_bound.tenant_id);
        update stepwell.http_answer as a set status = p_status, position = v_position,
            answer = case when octet_length(p_answer) <= stepwell._limit('limits.http_answer_bytes') then p_answer end
        where a.tenant_id = v_bound.tenant_id and a.principal_id = v_bound.principal_id and a.idempotency_key = p_key;
    end if;
    return v_position;
end
$$;

-- Writes into the log that a call was refused, after its transaction is gone. The token may have ended since: the log tells
-- whose it was. Returns whether the token is known.
-- Locks: none.
-- Idempotency: each call is another event.
-- Raises: nothing.
create or replace function stepwell.fn_request_refused(p_token text, p_call text, p_reason text, p_count int default 1) returns boolean
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_token record;
begin
    select t.tenant_id, t.token_id, p.principal_name into v_token
    from stepwell.access_token as t
    inner join stepwell.principal as p on t.tenant_id = p.tenant_id and t.principal_id = p.principal_id
    where t.token_hash = sha256(convert_to(p_token, 'UTF8'));
    if not found then
        return false;
    end if;
    perform stepwell._event_append(v_token.tenant_id, 0, 'call.refused', v_token.principal_name, jsonb_build_object(
        'name', v_token.principal_name, 'token_id', v_token.token_id, 'call', left(p_call, 200),
        'reason', left(stepwell._redact_text(p_reason), 400), 'count', greatest(p_count, 1)));
    return true;
end
$$;
