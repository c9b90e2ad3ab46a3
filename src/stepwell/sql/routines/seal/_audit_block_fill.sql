-- Purpose: takes the next events of a chain into its next block: keeps their leaves and their streams, and hands on the
--   header but for what chains it.
-- Locks: the caller holds the chain. The log is only read; nobody who writes to it waits.
-- Idempotency: none; the caller seals once.
-- Raises: nothing; a block without a number means that there is nothing to seal.
create or replace function stepwell._audit_block_fill(p_chain stepwell.audit_chain, p_limit int)
returns stepwell.audit_block
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_block stepwell.audit_block;
begin
    with leaf as materialized (
        select l.* from stepwell._audit_events_next(p_chain, p_limit) as l
    ), kept as (
        insert into stepwell.audit_leaves
            (tenant_id, block_no, leaf_hashes, txs, event_ids, ats, unit_ids, event_types)
        select p_chain.tenant_id, p_chain.block_count + 1, string_agg(l.leaf_hash, ''::bytea order by l.leaf_no),
            array_agg(l.tx_no order by l.leaf_no), array_agg(l.event_id order by l.leaf_no),
            array_agg(l.at order by l.leaf_no), array_agg(l.unit_id order by l.leaf_no),
            array_agg(l.event_type order by l.leaf_no)
        from leaf as l
        having count(*) > 0
    ), stream as materialized (
        select s.stream_id, s.event_count, coalesce(p.block_no, 0) as previous_block_no,
            sha256('\x00'::bytea || convert_to(json_build_array('stepwell.stream.1', s.stream_id,
                coalesce(p.block_no, 0), s.event_count, encode(s.digest, 'hex'))::text, 'UTF8')) as entry_hash
        from (
            select l.stream_id, count(*) as event_count,
                sha256('\x06'::bytea || string_agg(l.leaf_hash, ''::bytea order by l.leaf_no)) as digest
            from leaf as l
            group by l.stream_id
        ) as s
        left join lateral (
            select b.block_no
            from stepwell.audit_block_stream as b
            where b.tenant_id = p_chain.tenant_id and b.stream_id = s.stream_id
            order by b.block_no desc
            limit 1
        ) as p on true
    ), streams as (
        insert into stepwell.audit_block_stream
            (tenant_id, stream_id, block_no, previous_block_no, event_count, entry_hash)
        select p_chain.tenant_id, s.stream_id, p_chain.block_count + 1, s.previous_block_no, s.event_count, s.entry_hash
        from stream as s
    ), roots as (
        select count(*) as event_count, min(l.at) as first_at, max(l.at) as last_at, max(l.leaf_no) as last_no,
            stepwell._merkle_root(string_agg(l.leaf_hash, ''::bytea order by l.leaf_no)) as event_root
        from leaf as l
    )
    select p_chain.tenant_id, p_chain.block_count + 1, f.tx, f.event_id, t.tx, t.event_id, r.first_at, r.last_at,
        r.event_count, r.event_root, s.stream_count, s.stream_root
    into v_block.tenant_id, v_block.block_no, v_block.first_tx, v_block.first_event_id, v_block.last_tx,
        v_block.last_event_id, v_block.first_at, v_block.last_at, v_block.event_count, v_block.event_root,
        v_block.stream_count, v_block.stream_root
    from roots as r
    inner join leaf as f on f.leaf_no = 1
    inner join leaf as t on r.last_no = t.leaf_no
    cross join (
        select count(*) as stream_count,
            stepwell._merkle_root(string_agg(s.entry_hash, ''::bytea order by s.stream_id)) as stream_root
        from stream as s
    ) as s;
    return v_block;
end
$$;
