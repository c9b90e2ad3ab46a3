-- Reading the event log as an outbox: a reader keeps its position and never misses an event that committed late.

-- The next events of a tenant after a position, oldest first. The position is (tx, event_id), given or kept under the
-- name of a reader. Events of transactions that may still commit are held back with all that come after them: so a
-- reader that continues after the last event it saw never misses one that committed late.
-- Locks: none.
-- Idempotency: reads only; fn_events_ack moves a reader.
-- Raises: nothing.
create or replace function stepwell.fn_events_read(
    p_tenant_id int, p_reader text default null, p_after_tx bigint default 0, p_after_event_id bigint default 0,
    p_limit int default 1000
) returns table (
    tx bigint, event_id bigint, at timestamptz, run_id bigint, unit_id bigint, request_id int, event_type text,
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
    select e.tx::text::bigint, e.event_id, e.at, e.run_id, e.unit_id, e.request_id, e.event_type, e.from_state,
        e.to_state, e.actor_class, e.actor, e.audit_ref, e.trace_id, e.correlation_id, e.payload
    from stepwell.event_log as e
    where e.tenant_id = p_tenant_id
        and (e.tx, e.event_id) > (v_after_tx, v_after_event_id)
        and e.tx < pg_snapshot_xmin(pg_current_snapshot())
    order by e.tx, e.event_id
    limit greatest(least(p_limit, stepwell._limit('limits.events_page')), 0);
end
$$;

-- Stores how far a reader has come, and how long the events that it passed took. The position only moves forward, and never beyond
-- what fn_events_read may return. The reader belongs to the account that moved it first: nobody else makes it skip events.
-- Locks: the reader's row, then its histogram.
-- Idempotency: an older or equal position changes nothing and returns false.
-- Raises: SW001 for a missing name or a position that was not readable yet; SW007 for another tenant or the reader of another
-- account.
create or replace function stepwell.fn_events_ack(p_tenant_id int, p_reader text, p_tx bigint, p_event_id bigint)
returns boolean
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_principal_id constant bigint := stepwell.bound_principal();
    v_before stepwell.event_reader;
begin
    perform stepwell._verb_check(p_tenant_id, 'read');
    if coalesce(length(p_reader), 0) not between 1 and 200 then
        raise exception using errcode = 'SW001', column = 'reader', message = 'reader: a name of 1 to 200 characters is required';
    end if;
    perform stepwell._secret_refuse('reader', p_reader);
    if p_tx is null or p_event_id is null or p_tx::text::xid8 >= pg_snapshot_xmin(pg_current_snapshot()) then
        raise exception using errcode = 'SW001', column = 'tx',
            message = 'tx: must be the position of an event that fn_events_read has returned';
    end if;
    select r.* into v_before from stepwell.event_reader as r where r.tenant_id = p_tenant_id and r.reader_name = p_reader for update;
    insert into stepwell.event_reader as r (tenant_id, reader_name, last_tx, last_event_id, moved_at, principal_id)
    values (p_tenant_id, p_reader, p_tx::text::xid8, p_event_id, stepwell.now(), v_principal_id)
    on conflict (tenant_id, reader_name) do update set
        last_tx = excluded.last_tx, last_event_id = excluded.last_event_id, moved_at = excluded.moved_at,
        principal_id = coalesce(r.principal_id, excluded.principal_id)
    where (r.last_tx, r.last_event_id) < (excluded.last_tx, excluded.last_event_id)
        and (v_principal_id is null or coalesce(r.principal_id, v_principal_id) = v_principal_id);
    if found then
        -- A reader that is new was behind nothing.
        if v_before.reader_name is not null then
            perform stepwell._lag_note_passed(p_tenant_id, 'reader:' || p_reader, v_before.last_tx, v_before.last_event_id,
                p_tx::text::xid8, p_event_id);
        end if;
        return true;
    end if;
    if exists (select from stepwell.event_reader as r where r.tenant_id = p_tenant_id and r.reader_name = p_reader
        and r.principal_id <> v_principal_id) then
        raise exception using errcode = 'SW007', column = 'reader',
            message = format('reader: %s belongs to another account; use a name of your own', p_reader);
    end if;
    return false;
end
$$;
