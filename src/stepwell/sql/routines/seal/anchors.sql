-- Block headers are sent to anchors outside the database: so nobody can replace the whole chain unseen.

-- The tenants with blocks that an anchor has not received, or whose head it has not received with this signing key (null:
-- without signatures).
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_anchor_due(p_anchor text, p_public_key text) returns int[]
language sql stable security definer
set search_path = stepwell, pg_temp
as $$
    select array(
        select c.tenant_id
        from stepwell.audit_chain as c
        left join stepwell.audit_anchor as a on c.tenant_id = a.tenant_id and a.anchor = p_anchor
        where c.block_count > coalesce(a.last_block_no, 0)
            or (c.block_count > 0 and p_public_key is not null and a.public_key is distinct from p_public_key)
        order by a.anchored_at nulls first, c.tenant_id)
$$;

-- The block headers that an anchor has not received, oldest first, as the objects that it gets: all fields that the hash
-- of the block covers. When the signing key is another one than before, the newest block that the anchor has comes once
-- more: so every chain has a block that the newest key signed.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW007 for another tenant.
create or replace function stepwell.fn_anchor_headers(p_tenant_id int, p_anchor text, p_public_key text, p_limit int) returns jsonb
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_from constant bigint := coalesce((
        select a.last_block_no - case when a.public_key is distinct from p_public_key and p_public_key is not null then 1 else 0 end
        from stepwell.audit_anchor as a where a.tenant_id = p_tenant_id and a.anchor = p_anchor), 0);
begin
    perform stepwell._tenant_bound(p_tenant_id);
    return (
        select jsonb_agg(jsonb_build_object(
            'chain_id', c.chain_id, 'tenant_id', b.tenant_id, 'block_no', b.block_no,
            'first_tx', b.first_tx::text::bigint, 'first_event_id', b.first_event_id,
            'last_tx', b.last_tx::text::bigint, 'last_event_id', b.last_event_id,
            'first_at', to_char(b.first_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
            'last_at', to_char(b.last_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
            'event_count', b.event_count, 'event_root', encode(b.event_root, 'hex'),
            'stream_count', b.stream_count, 'stream_root', encode(b.stream_root, 'hex'),
            'history_root', encode(b.history_root, 'hex'), 'previous_hash', encode(b.previous_hash, 'hex'),
            'sealed_at', to_char(b.sealed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
            'block_hash', encode(b.block_hash, 'hex')) order by b.block_no)
        from stepwell.audit_chain as c
        inner join stepwell.audit_block as b on c.tenant_id = b.tenant_id
        where c.tenant_id = p_tenant_id and b.block_no > v_from and b.block_no <= v_from + p_limit);
end
$$;

-- Stores the last block that an anchor has received and the key that signed it, or why it could not receive one.
-- Locks: the row of the anchor.
-- Idempotency: an earlier block changes nothing.
-- Raises: SW007 for another tenant.
create or replace function stepwell.fn_anchor_written(
    p_tenant_id int, p_anchor text, p_block_no bigint, p_public_key text, p_error text
) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
begin
    p_error := stepwell._redact_text(p_error);
    perform stepwell._secret_refuse('anchor', p_anchor);
    perform stepwell._tenant_bound(p_tenant_id);
    insert into stepwell.audit_anchor as a (tenant_id, anchor, last_block_no, public_key, anchored_at, failed_at, last_error)
    values (p_tenant_id, p_anchor, coalesce(p_block_no, 0), case when p_error is null then p_public_key end,
        case when p_error is null then v_now end, case when p_error is not null then v_now end, left(p_error, 1000))
    on conflict (tenant_id, anchor) do update set
        last_block_no = greatest(a.last_block_no, excluded.last_block_no),
        public_key = case when p_error is null then p_public_key else a.public_key end,
        anchored_at = coalesce(excluded.anchored_at, a.anchored_at),
        failed_at = excluded.failed_at, last_error = excluded.last_error;
end
$$;
