-- Purpose: tells a unit what it waits for, or will wait for: an event of its own run, accepted once.
-- Locks: the caller holds the run or job.
-- Idempotency: by the event's name, which is of one approval or receipt.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._news_deliver(p_tenant_id int, p_unit_id bigint, p_event_type text, p_payload jsonb) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    insert into stepwell.event_inbox (tenant_id, event_key, stream_id, event_type, payload, received_at)
    values (p_tenant_id, 'stepwell:' || p_event_type, p_unit_id >> 20, p_event_type, p_payload, stepwell.now())
    on conflict (tenant_id, event_key) do nothing;
    if found then
        perform stepwell._waits_match(p_tenant_id, p_unit_id >> 20, p_event_type);
        perform stepwell._workers_wake(null);
    end if;
end
$$;
