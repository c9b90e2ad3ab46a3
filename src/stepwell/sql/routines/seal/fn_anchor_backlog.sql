-- Purpose: the block headers that an anchor has not been told, oldest first, as the objects it gets.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW007 for another tenant.
create or replace function stepwell.fn_anchor_backlog(p_tenant_id int, p_anchor text, p_limit int) returns jsonb
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._tenant_bound(p_tenant_id);
    return (
        select jsonb_agg(jsonb_build_object('chain_id', x.chain_id, 'tenant_id', x.tenant_id, 'block_no', x.block_no,
            'event_count', x.event_count, 'previous_hash', encode(x.previous_hash, 'hex'),
            'block_hash', encode(x.block_hash, 'hex'), 'sealed_at', x.sealed_at) order by x.block_no)
        from (
            select c.chain_id, b.tenant_id, b.block_no, b.event_count, b.previous_hash, b.block_hash, b.sealed_at
            from stepwell.audit_chain as c
            inner join stepwell.audit_block as b on c.tenant_id = b.tenant_id
            where c.tenant_id = p_tenant_id and b.block_no > coalesce((
                select a.last_block_no from stepwell.audit_anchor as a
                where a.tenant_id = p_tenant_id and a.anchor = p_anchor), 0)
            order by b.block_no
            limit p_limit
        ) as x);
end
$$;
