-- Purpose: the next events of a tenant after a position, oldest first. The position is (tx, event_id), given or kept
--   under a reader's name. Events of transactions that might still commit are held back, with all that come after, so
--   that a reader that goes on from the last event it saw never skips one that committed late.
-- Locks: none.
-- Idempotency: reads only; fn_events_ack moves a reader.
-- Raises: nothing.
create or replace function stepwell.fn_events_read(
    p_tenant_id int, p_reader text default null, p_after_tx bigint default 0, p_after_event_id bigint default 0,
    p_limit int default 1000
) returns table (
    tx bigint, event_id bigint, at timestamptz, stream_id bigint, unit_id bigint, request_id int, event_type text,
    from_state text, to_state text, actor_class text, actor text, audit_ref text, trace_id text, correlation_id text,
    payload jsonb
)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_after_tx xid8 := p_after_tx::text::xid8;
    v_after_event_id bigint := p_after_event_id;
begin
    if p_reader is not null then
        select r.last_tx, r.last_event_id into v_after_tx, v_after_event_id
        from stepwell.event_reader as r
        where r.tenant_id = p_tenant_id and r.reader_name = p_reader;
        if not found then
            v_after_tx := '0';
            v_after_event_id := 0;
        end if;
    end if;
    return query
    select e.tx::text::bigint, e.event_id, e.at, e.stream_id, e.unit_id, e.request_id, e.event_type, e.from_state,
        e.to_state, e.actor_class, e.actor, e.audit_ref, e.trace_id, e.correlation_id, e.payload
    from stepwell.event_log as e
    where e.tenant_id = p_tenant_id
        and (e.tx, e.event_id) > (v_after_tx, v_after_event_id)
        and e.tx < pg_snapshot_xmin(pg_current_snapshot())
    order by e.tx, e.event_id
    limit greatest(least(p_limit, stepwell._limit('limits.events_page')), 0);
end
$$;
