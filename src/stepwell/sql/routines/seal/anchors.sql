-- Block headers are sent to anchors outside the database: so nobody can replace the whole chain unseen.

-- The tenants with blocks that an anchor has not received.
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

-- The block headers that an anchor has not received, oldest first, as the objects that it gets.
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

-- Stores the last block that an anchor has received, or why it could not receive one.
-- Locks: the row of the anchor.
-- Idempotency: an earlier block changes nothing.
-- Raises: SW007 for another tenant.
create or replace function stepwell.fn_anchor_record(p_tenant_id int, p_anchor text, p_block_no bigint, p_error text)
returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
begin
    perform stepwell._tenant_bound(p_tenant_id);
    insert into stepwell.audit_anchor as a (tenant_id, anchor, last_block_no, anchored_at, failed_at, last_error)
    values (p_tenant_id, p_anchor, coalesce(p_block_no, 0), case when p_error is null then v_now end,
        case when p_error is not null then v_now end, left(p_error, 1000))
    on conflict (tenant_id, anchor) do update set
        last_block_no = greatest(a.last_block_no, excluded.last_block_no),
        anchored_at = coalesce(excluded.anchored_at, a.anchored_at),
        failed_at = excluded.failed_at, last_error = excluded.last_error;
end
$$;
