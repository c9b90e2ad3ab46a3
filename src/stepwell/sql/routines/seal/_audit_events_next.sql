-- Purpose: the next events of a chain with their leaves, in order: those below the oldest transaction in flight, for no
--   older one can come any more. The canonical form of an event is written here and nowhere else in the database. Its
--   payload is in it as a size and a salted hash, so that a bundle can prove an event without showing what it carried.
--   No function per event: ten thousand calls would cost more than the hashing.
-- Locks: none; nobody who writes to the log waits.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._audit_events_next(p_chain stepwell.audit_chain, p_limit int)
returns table (
    leaf_no bigint, tx xid8, tx_no bigint, event_id bigint, at timestamptz, stream_id bigint, unit_id bigint,
    event_type text, leaf_hash bytea
)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with event as materialized (
        select e.tx, e.tx::text::bigint as tx_no, e.event_id, e.at, e.stream_id, e.unit_id, e.request_id, e.event_type,
            e.from_state, e.to_state, e.actor_class, e.actor, e.audit_ref, e.trace_id, e.correlation_id,
            e.payload::text as payload
        from stepwell.event_log as e
        where e.tenant_id = p_chain.tenant_id
            and (e.tx, e.event_id) > (p_chain.last_tx, p_chain.last_event_id)
            and e.tx < pg_snapshot_xmin(pg_current_snapshot())
        order by e.tx, e.event_id
        limit p_limit
    )
    select row_number() over (order by e.tx, e.event_id) as leaf_no, e.tx, e.tx_no, e.event_id, e.at, e.stream_id,
        e.unit_id, e.event_type,
        sha256('\x00'::bytea || convert_to(json_build_array('stepwell.event.1', p_chain.tenant_id, e.tx_no, e.event_id,
            to_char(e.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), e.stream_id, e.unit_id, e.request_id,
            e.event_type, e.from_state, e.to_state, e.actor_class, e.actor, e.audit_ref, e.trace_id,
            e.correlation_id, octet_length(e.payload), encode(sha256('\x02'::bytea
                || sha256('\x03'::bytea || p_chain.salt || convert_to('event:' || e.tx_no || ':' || e.event_id, 'UTF8'))
                || convert_to(e.payload, 'UTF8')), 'hex'))::text, 'UTF8')) as leaf_hash
    from event as e
    order by e.tx, e.event_id
$$;
