-- Purpose: the chain of a tenant, held until the transaction ends; begun when there is none.
-- Locks: audit_chain of the tenant.
-- Idempotency: a chain is begun once.
-- Raises: nothing.
create or replace function stepwell._audit_chain_lock(p_tenant_id int) returns stepwell.audit_chain
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_chain stepwell.audit_chain;
    v_now constant timestamptz := stepwell.now();
    v_chain_id constant uuid := gen_random_uuid();
    v_salt constant bytea := sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));
    v_genesis bytea;
begin
    select c.* into v_chain from stepwell.audit_chain as c where c.tenant_id = p_tenant_id for update;
    if found then
        return v_chain;
    end if;
    -- The salt is bound into the chain: another one could not be put in its place later.
    v_genesis := sha256('\x05'::bytea || convert_to(json_build_array(
        'stepwell.chain.1', v_chain_id::text, p_tenant_id, encode(sha256(v_salt), 'hex'),
        to_char(v_now at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))::text, 'UTF8'));
    insert into stepwell.audit_chain (tenant_id, chain_id, salt, genesis_hash, created_at, head_hash)
    values (p_tenant_id, v_chain_id, v_salt, v_genesis, v_now, v_genesis)
    on conflict (tenant_id) do nothing;
    select c.* into v_chain from stepwell.audit_chain as c where c.tenant_id = p_tenant_id for update;
    return v_chain;
end
$$;
