-- Purpose: the tenants with blocks that an anchor has not been told.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_anchor_tenants(p_anchor text) returns int[]
language sql stable security definer
set search_path = stepwell, pg_temp
as $$
    select array(
        select c.tenant_id
        from stepwell.audit_chain as c
        left join stepwell.audit_anchor as a on c.tenant_id = a.tenant_id and a.anchor = p_anchor
        where c.block_count > coalesce(a.last_block_no, 0)
        order by a.anchored_at nulls first, c.tenant_id)
$$;
