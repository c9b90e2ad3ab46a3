-- The binding of a transaction as a setting with a stamp: how it is made, and how it is read. No role may call these functions;
-- tenancy/bound.sql does.

-- The binding of this transaction in its parts; nulls when there is none.
create or replace function stepwell._binding(out tenant_id int, out principal_id bigint, out token_id bigint, out reads int)
language plpgsql stable parallel restricted
set search_path = stepwell, pg_temp
as $$
declare
    v_bound constant text := stepwell._bound();
begin
    if v_bound is not null then
        tenant_id := split_part(v_bound, ':', 1)::int;
        principal_id := split_part(v_bound, ':', 2)::bigint;
        token_id := split_part(v_bound, ':', 3)::bigint;
        reads := split_part(v_bound, ':', 4)::int;
    end if;
end
$$;

-- The binding of this transaction as text, tenant:principal:token:reads, when its stamp is right; else null. Nothing of a
-- setting is read before its stamp is: one that is odd in any way binds nothing. In development mode a transaction without a
-- setting is bound to the person of that mode. Row level security calls it for every table of a statement, so it does little.
create or replace function stepwell._bound() returns text
language plpgsql stable parallel restricted
set search_path = stepwell, pg_temp
as $$
declare
    v_setting constant text := coalesce(current_setting('stepwell.binding', true), '');
begin
    if v_setting = '' then
        return (select format('%s:%s:0:3', d.tenant_id, d.principal_id)
            from stepwell.development_mode as d
            inner join stepwell.principal as p on d.tenant_id = p.tenant_id and d.principal_id = p.principal_id
            where d.left_at is null and p.is_active);
    end if;
    return case when right(v_setting, 64) = stepwell._stamp_of(left(v_setting, -64)) then left(v_setting, -65) end;
end
$$;

-- What is bound, as the text that a stamp is made of.
create or replace function stepwell._bound_text(p_tenant_id int, p_principal_id bigint, p_token_id bigint, p_reads int) returns text
language sql stable parallel safe
as $$ select concat_ws(':', p_tenant_id, p_principal_id, p_token_id, p_reads, '') $$;

-- The stamp of a binding, with the key of this database.
create or replace function stepwell._stamp_of(p_bound text) returns text
language plpgsql stable parallel restricted
set search_path = stepwell, pg_temp
as $$
begin
    return (select stepwell._stamp_with(k.secret, p_bound) from stepwell.binding_key as k where k.only_one);
end
$$;

-- The stamp of a binding: a keyed hash over what is bound and where. What is hashed with the key always has the length of a
-- hash, so no stamp can be made longer into another one. A backend is told by its process and the start of
-- the server; transaction_timestamp() has microseconds and differs in its next transaction. These three have a fixed length
-- as they are sent, so no text can stand for another one with another place. The function proves nothing: only the owner reads
-- the key. It has no settings of its own, so that PostgreSQL makes it part of the statement that calls it.
create or replace function stepwell._stamp_with(p_secret bytea, p_bound text) returns text
language sql stable parallel restricted
as $$
    select encode(sha256(p_secret || sha256(convert_to(p_bound, 'UTF8') || int4send(pg_backend_pid())
        || timestamptz_send(pg_postmaster_start_time()) || timestamptz_send(transaction_timestamp()))), 'hex')
$$;
