-- Purpose: seals the next block of a tenant's log: at most audit.block_events events that can no longer be preceded by
--   another, their Merkle root, the streams they belong to, chained to the block before. No row when nothing is new.
-- Locks: audit_chain of the tenant, so that of many who seal one does; nothing that a report or a claim waits for.
-- Idempotency: an event is sealed once; a call that dies leaves nothing.
-- Raises: SW002 when the tenant does not exist; SW007 for another tenant.
create or replace function stepwell.fn_audit_seal(p_tenant_id int)
returns table (block_no bigint, event_count int, block_hash bytea, is_full boolean)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_limit constant int := greatest(stepwell._limit('audit.block_events'), 1);
    v_chain stepwell.audit_chain;
    v_block stepwell.audit_block;
begin
    perform stepwell._tenant_bound(p_tenant_id);
    if not exists (select from stepwell.tenant as t where t.tenant_id = p_tenant_id) then
        raise exception using errcode = 'SW002', message = format('tenant %s does not exist', p_tenant_id);
    end if;
    v_chain := stepwell._audit_chain_lock(p_tenant_id);
    v_block := stepwell._audit_block_fill(v_chain, v_limit);
    if v_block.block_no is null then
        return;
    end if;
    v_block.history_root := stepwell._history_root(v_chain.history_peaks);
    v_block.previous_hash := v_chain.head_hash;
    v_block.sealed_at := stepwell.now();
    v_block.block_hash := stepwell._block_hash(v_chain.chain_id, v_block);
    insert into stepwell.audit_block select (v_block).*;
    update stepwell.audit_chain as c set
        block_count = v_block.block_no, head_hash = v_block.block_hash, sealed_at = v_block.sealed_at,
        history_peaks = stepwell._history_append(c.history_peaks, c.block_count, v_block.block_hash),
        last_tx = v_block.last_tx, last_event_id = v_block.last_event_id
    where c.tenant_id = p_tenant_id;
    return query select v_block.block_no, v_block.event_count, v_block.block_hash, v_block.event_count >= v_limit;
end
$$;
