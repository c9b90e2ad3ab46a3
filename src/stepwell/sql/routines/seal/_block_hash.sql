-- Purpose: the hash of a block header, over all its fields, the hash of the block before among them.
-- Locks: none.
-- Idempotency: pure.
-- Raises: nothing.
create or replace function stepwell._block_hash(p_chain_id uuid, p_block stepwell.audit_block) returns bytea
language sql stable
set search_path = stepwell, pg_temp
as $$
    select sha256('\x04'::bytea || convert_to(json_build_array(
        'stepwell.block.1', p_chain_id::text, (p_block).block_no,
        (p_block).first_tx::text::bigint, (p_block).first_event_id,
        (p_block).last_tx::text::bigint, (p_block).last_event_id,
        to_char((p_block).first_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        to_char((p_block).last_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        (p_block).event_count, encode((p_block).event_root, 'hex'),
        (p_block).stream_count, encode((p_block).stream_root, 'hex'), encode((p_block).history_root, 'hex'),
        encode((p_block).previous_hash, 'hex'),
        to_char((p_block).sealed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    )::text, 'UTF8'))
$$;
