-- The event log of a tenant is sealed in blocks. A block has the hashes of its events (leaves), their Merkle root, and
-- the hash of the block before it.

-- Seals the next block of a tenant's log: at most audit.block_events events, of which none can be preceded by another
-- event any more; their Merkle root; the runs they belong to; the hash of the block before. No row when there is
-- nothing new.
-- Locks: audit_chain of the tenant, so that only one session seals at a time; nothing that a report or a claim waits
--   for.
-- Idempotency: an event is sealed once; a call that fails leaves nothing.
-- Raises: SW002 when the tenant does not exist; SW007 when the caller may not seal, or for another tenant.
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
    perform stepwell._verb_check(p_tenant_id, 'evidence.seal');
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

-- The tenants whose log has something to seal, the one that was sealed longest ago first; how often to look; and in how
-- many seconds the oldest event without a seal will have waited for that long, 0 when it has, null when there is none.
-- Not those whose seal was set aside until later. No tenant when sealing is switched off.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_audit_due(p_limit int default 1000)
returns table (interval_seconds int, tenant_ids int[], due_in_seconds float8)
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_interval constant int := stepwell._limit('audit.seal_interval_seconds');
    v_now constant timestamptz := stepwell.now();
begin
    return query
    select
        v_interval,
        coalesce(array_agg(d.tenant_id order by d.sealed_at nulls first, d.tenant_id), '{}'),
        case when count(*) > 0
            then greatest(extract(epoch from min(d.unsealed_since) - v_now) + v_interval, 0)::float8 end
    from (
        select t.tenant_id, c.sealed_at, o.at as unsealed_since
        from stepwell.tenant as t
        left join stepwell.audit_chain as c on t.tenant_id = c.tenant_id
        cross join lateral (
            select e.at
            from stepwell.event_log as e
            where e.tenant_id = t.tenant_id and e.tx < pg_snapshot_xmin(pg_current_snapshot())
                and (e.tx, e.event_id) > (coalesce(c.last_tx, '0'), coalesce(c.last_event_id, 0))
            order by e.tx, e.event_id
            limit 1) as o
        where v_interval > 0 and not stepwell._is_set_aside(t.tenant_id, 'seal', t.tenant_id::text, v_now)
        order by c.sealed_at nulls first, t.tenant_id
        limit p_limit) as d;
end
$$;

-- How far the log of each tenant is sealed: blocks, the oldest event that is not sealed, and an anchor that could not
-- be reached.
create or replace view stepwell.v_audit_seal with (security_invoker = true) as
select
    t.tenant_id,
    t.tenant_code,
    c.chain_id,
    coalesce(c.block_count, 0) as block_count,
    c.sealed_at,
    (
        select e.at
        from stepwell.event_log as e
        where e.tenant_id = t.tenant_id
            and (e.tx, e.event_id) > (coalesce(c.last_tx, '0'), coalesce(c.last_event_id, 0))
        order by e.tx, e.event_id
        limit 1
    ) as unsealed_since,
    (
        select string_agg(a.anchor || ': ' || a.last_error, '; ' order by a.anchor)
        from stepwell.audit_anchor as a
        where a.tenant_id = t.tenant_id and a.last_error is not null
    ) as anchor_error
from stepwell.tenant as t
left join stepwell.audit_chain as c on t.tenant_id = c.tenant_id;

-- Locks the chain of a tenant; creates it when there is none.
-- Locks: audit_chain of the tenant.
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
    -- The hash of the salt is part of the chain: nobody can replace the salt later.
    v_genesis := sha256('\x05'::bytea || convert_to(json_build_array(
        'stepwell.chain.1', v_chain_id::text, p_tenant_id, encode(sha256(v_salt), 'hex'),
        stepwell._utc_text(v_now))::text, 'UTF8'));
    insert into stepwell.audit_chain (tenant_id, chain_id, salt, genesis_hash, created_at, head_hash)
    values (p_tenant_id, v_chain_id, v_salt, v_genesis, v_now, v_genesis)
    on conflict (tenant_id) do nothing;
    select c.* into v_chain from stepwell.audit_chain as c where c.tenant_id = p_tenant_id for update;
    return v_chain;
end
$$;

-- Puts the next events of a chain into its next block: stores their leaves and the runs they belong to, and returns the
-- header without the fields that link it to the chain. A block without a number means that there is nothing to seal.
-- Locks: the caller holds the chain. The log is only read; nobody who writes to it waits.
create or replace function stepwell._audit_block_fill(p_chain stepwell.audit_chain, p_limit int)
returns stepwell.audit_block
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_block stepwell.audit_block;
    -- A run above all that are sealed has no block before: most runs of a block need no look-up.
    v_known_run constant bigint := (
        select max(b.run_id) from stepwell.audit_block_stream as b where b.tenant_id = p_chain.tenant_id);
begin
    with leaf as materialized (
        select l.* from stepwell._audit_events_next(p_chain, p_limit) as l
    ), packed as materialized (
        select count(*)::int as event_count, min(l.at) as first_at, max(l.at) as last_at,
            string_agg(l.leaf_hash, ''::bytea order by l.tx, l.event_id) as leaf_hashes,
            array_agg(l.tx::text::bigint order by l.tx, l.event_id) as txs,
            array_agg(l.event_id order by l.tx, l.event_id) as event_ids, array_agg(l.at order by l.tx, l.event_id) as ats,
            array_agg(l.unit_id order by l.tx, l.event_id) as unit_ids,
            array_agg(l.event_type order by l.tx, l.event_id) as event_types,
            array_agg(l.value_hashes order by l.tx, l.event_id) as value_hashes
        from leaf as l
        having count(*) > 0
    ), kept as (
        insert into stepwell.audit_leaves
            (tenant_id, block_no, leaf_hashes, txs, event_ids, ats, unit_ids, event_types, value_hashes)
        select p_chain.tenant_id, p_chain.block_count + 1, k.leaf_hashes, k.txs, k.event_ids, k.ats, k.unit_ids,
            k.event_types, k.value_hashes
        from packed as k
    ), stream as materialized (
        select s.run_id, s.event_count, coalesce(p.block_no, 0) as previous_block_no,
            sha256('\x00'::bytea || convert_to('["stepwell.stream.1", ' || s.run_id || ', ' || coalesce(p.block_no, 0) || ', '
                || s.event_count || ', "' || encode(s.digest, 'hex') || '"]', 'UTF8')) as entry_hash
        from (
            select l.run_id, count(*) as event_count,
                sha256('\x06'::bytea || string_agg(l.leaf_hash, ''::bytea order by l.tx, l.event_id)) as digest
            from leaf as l
            group by l.run_id
        ) as s
        left join lateral (
            select b.block_no
            from stepwell.audit_block_stream as b
            where b.tenant_id = p_chain.tenant_id and b.run_id = s.run_id and s.run_id <= v_known_run
            order by b.block_no desc
            limit 1
        ) as p on true
    ), streams as (
        insert into stepwell.audit_block_stream
            (tenant_id, run_id, block_no, previous_block_no, event_count, entry_hash)
        select p_chain.tenant_id, s.run_id, p_chain.block_count + 1, s.previous_block_no, s.event_count, s.entry_hash
        from stream as s
    )
    select p_chain.tenant_id, p_chain.block_count + 1, k.txs[1]::text::xid8, k.event_ids[1],
        k.txs[k.event_count]::text::xid8, k.event_ids[k.event_count], k.first_at, k.last_at, k.event_count,
        stepwell._merkle_root(k.leaf_hashes), s.stream_count, s.stream_root
    into v_block.tenant_id, v_block.block_no, v_block.first_tx, v_block.first_event_id, v_block.last_tx,
        v_block.last_event_id, v_block.first_at, v_block.last_at, v_block.event_count, v_block.event_root,
        v_block.stream_count, v_block.stream_root
    from packed as k
    cross join (
        select count(*)::int as stream_count,
            stepwell._merkle_root(string_agg(s.entry_hash, ''::bytea order by s.run_id)) as stream_root
        from stream as s
    ) as s;
    return v_block;
end
$$;

-- The next events of a chain with their leaves: those of transactions older than the oldest one in flight, because no
-- older event can be added to them. This is the only place in the database that writes the canonical form of an event, a
-- JSON array. The payload is in it as a size and a salted hash, so that a bundle can prove an event without showing its
-- payload. The last event of each unit carries the hashes of the values that the unit has. There is no function for one
-- event: ten thousand calls would cost more than the hashing. The log is read twice, first for the units: to keep the rows
-- of the first time would cost more. Only words can need escapes, so only they are built as JSON.
create or replace function stepwell._audit_events_next(p_chain stepwell.audit_chain, p_limit int)
returns table (
    tx xid8, event_id bigint, at timestamptz, run_id bigint, unit_id bigint, event_type text, leaf_hash bytea,
    value_hashes bytea
)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with last_of as materialized (
        select distinct on (l.unit_id) l.unit_id, l.tx, l.event_id
        from (
            select e.unit_id, e.tx, e.event_id
            from stepwell.event_log as e
            where e.tenant_id = p_chain.tenant_id
                and (e.tx, e.event_id) > (p_chain.last_tx, p_chain.last_event_id)
                and e.tx < pg_snapshot_xmin(pg_current_snapshot())
            order by e.tx, e.event_id
            limit p_limit
        ) as l
        order by l.unit_id, l.tx desc, l.event_id desc
    ), carried as materialized (
        select l.tx, l.event_id, v.value_hashes
        from stepwell._audit_values(p_chain.tenant_id, p_chain.salt, array(select q.unit_id from last_of as q)) as v
        inner join last_of as l on v.unit_id = l.unit_id
    )
    select e.tx, e.event_id, e.at, e.run_id, e.unit_id, e.event_type,
        sha256('\x00'::bytea || convert_to(
            case when c.value_hashes is null then '["stepwell.event.1", ' else '["stepwell.event.2", ' end
            || p_chain.tenant_id || ', ' || e.tx::text || ', ' || e.event_id || ', "' || stepwell._utc_text(e.at) || '", '
            || e.run_id || ', ' || e.unit_id || ', ' || coalesce(e.request_id::text, 'null') || ', '
            || stepwell._json_text(e.event_type) || ', ' || stepwell._json_text(e.from_state) || ', '
            || stepwell._json_text(e.to_state) || ', ' || stepwell._json_text(e.actor_class) || ', '
            || stepwell._json_text(e.actor) || ', ' || stepwell._json_text(e.audit_ref) || ', '
            || stepwell._json_text(e.trace_id) || ', ' || stepwell._json_text(e.correlation_id) || ', '
            || coalesce(octet_length(e.payload) || ', "' || encode(sha256('\x02'::bytea
                || sha256('\x03'::bytea || p_chain.salt || convert_to('event:' || e.tx::text || ':' || e.event_id, 'UTF8'))
                || convert_to(e.payload, 'UTF8')), 'hex') || '"', 'null, null')
            || coalesce(', "' || encode(sha256('\x07'::bytea || c.value_hashes), 'hex') || '"]', ']'), 'UTF8')) as leaf_hash,
        c.value_hashes
    from (
        select e.tx, e.event_id, e.at, e.run_id, e.unit_id, e.request_id, e.event_type, e.from_state, e.to_state,
            e.actor_class, e.actor, e.audit_ref, e.trace_id, e.correlation_id, e.payload::text as payload
        from stepwell.event_log as e
        where e.tenant_id = p_chain.tenant_id
            and (e.tx, e.event_id) > (p_chain.last_tx, p_chain.last_event_id)
            and e.tx < pg_snapshot_xmin(pg_current_snapshot())
        order by e.tx, e.event_id
        limit p_limit
    ) as e
    left join carried as c on e.tx = c.tx and e.event_id = c.event_id
$$;

-- The root of a Merkle tree by RFC 6962: nodes are paired from the left, and a node without a partner goes up as it is.
-- Takes the leaves as one value, 32 bytes each; null for no leaves.
create or replace function stepwell._merkle_root(p_leaves bytea) returns bytea
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
declare
    v_level bytea := p_leaves;
begin
    while length(v_level) > 32 loop
        -- A pair is 64 bytes in a row: an array would have to be searched for each element.
        select string_agg(case length(x.pair) when 64 then sha256('\x01'::bytea || x.pair) else x.pair end,
            ''::bytea order by x.place)
        into v_level
        from (
            select i.place, substring(v_level from i.place * 64 + 1 for 64) as pair
            from generate_series(0, (length(v_level) - 1) / 64) as i (place)
        ) as x;
    end loop;
    return nullif(v_level, ''::bytea);
end
$$;

-- The hash of a block header, over all its fields; one of them is the hash of the block before.
create or replace function stepwell._block_hash(p_chain_id uuid, p_block stepwell.audit_block) returns bytea
language sql stable
set search_path = stepwell, pg_temp
as $$
    select sha256('\x04'::bytea || convert_to(json_build_array(
        'stepwell.block.1', p_chain_id::text, (p_block).block_no,
        (p_block).first_tx::text::bigint, (p_block).first_event_id,
        (p_block).last_tx::text::bigint, (p_block).last_event_id,
        stepwell._utc_text((p_block).first_at),
        stepwell._utc_text((p_block).last_at),
        (p_block).event_count, encode((p_block).event_root, 'hex'),
        (p_block).stream_count, encode((p_block).stream_root, 'hex'), encode((p_block).history_root, 'hex'),
        encode((p_block).previous_hash, 'hex'),
        stepwell._utc_text((p_block).sealed_at)
    )::text, 'UTF8'))
$$;

-- Adds one block hash to the history of a chain. The history is kept as the roots of its complete subtrees, largest
-- first: as many as the number of blocks has ones in binary.
create or replace function stepwell._history_append(p_peaks bytea[], p_count bigint, p_hash bytea) returns bytea[]
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
declare
    v_peaks bytea[] := p_peaks;
    v_hash bytea := p_hash;
    v_left bigint := p_count;
begin
    while v_left & 1 = 1 loop
        v_hash := sha256('\x01'::bytea || v_peaks[cardinality(v_peaks)] || v_hash);
        v_peaks := trim_array(v_peaks, 1);
        v_left := v_left >> 1;
    end loop;
    return v_peaks || v_hash;
end
$$;

-- The root over all earlier block hashes, from the complete subtrees: so the newest header proves every earlier one
-- with a few hashes. Before the first block it is the hash of nothing.
create or replace function stepwell._history_root(p_peaks bytea[]) returns bytea
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
declare
    v_root bytea := p_peaks[cardinality(p_peaks)];
begin
    for v_at in reverse cardinality(p_peaks) - 1 .. 1 loop
        v_root := sha256('\x01'::bytea || p_peaks[v_at] || v_root);
    end loop;
    return coalesce(v_root, sha256(''::bytea));
end
$$;

-- Refuses every change and deletion of a block header, for the owner too.
-- Raises: SW007.
create or replace function stepwell._audit_block_refuse() returns trigger
language plpgsql
set search_path = stepwell, pg_temp
as $$
begin
    raise exception using errcode = 'SW007',
        message = format('%s: the seal of the log cannot be changed; %s is refused', tg_table_name, lower(tg_op));
end
$$;
create or replace trigger audit_block_is_final
before update or delete or truncate on stepwell.audit_block
for each statement execute function stepwell._audit_block_refuse();
