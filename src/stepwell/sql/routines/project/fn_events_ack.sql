-- Purpose: remembers how far a reader has come. A position only moves ahead, and never past what may still commit.
-- Locks: the reader's row.
-- Idempotency: an older or equal position changes nothing and says so.
-- Raises: SW001 for a missing name or a position that was not readable yet; SW007 for another tenant.
create or replace function stepwell.fn_events_ack(p_tenant_id int, p_reader text, p_tx bigint, p_event_id bigint)
returns boolean
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._tenant_bound(p_tenant_id);
    if coalesce(length(p_reader), 0) not between 1 and 200 then
        raise exception using errcode = 'SW001', column = 'reader', message = 'reader: a name of 1 to 200 characters is required';
    end if;
    if p_tx is null or p_event_id is null or p_tx::text::xid8 >= pg_snapshot_xmin(pg_current_snapshot()) then
        raise exception using errcode = 'SW001', column = 'tx',
            message = 'tx: must be the position of an event that fn_events_read handed out';
    end if;
    insert into stepwell.event_reader as r (tenant_id, reader_name, last_tx, last_event_id, moved_at)
    values (p_tenant_id, p_reader, p_tx::text::xid8, p_event_id, stepwell.now())
    on conflict (tenant_id, reader_name) do update set
        last_tx = excluded.last_tx, last_event_id = excluded.last_event_id, moved_at = excluded.moved_at
    where (r.last_tx, r.last_event_id) < (excluded.last_tx, excluded.last_event_id);
    return found;
end
$$;
