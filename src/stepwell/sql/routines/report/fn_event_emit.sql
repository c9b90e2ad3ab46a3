-- Purpose: a handler's own event, appended to the log while it holds the lease.
-- Locks: the unit row (shared), so that it cannot lose its lease in between.
-- Idempotency: none; a handler that may run twice emits inside ctx.step.
-- Raises: SW005 when the lease is no longer held; SW006 when the payload is too large.
create or replace function stepwell.fn_event_emit(
    p_session_id bigint, p_tenant_id int, p_unit_id bigint, p_lease_no int, p_type text, p_payload jsonb
) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._lease_hold(p_session_id, p_tenant_id, p_unit_id, p_lease_no);
    if pg_column_size(p_payload) > stepwell._limit('limits.payload_bytes') then
        raise exception using errcode = 'SW006', message = format('event %s: the payload is too large', p_type);
    end if;
    perform stepwell._event_append(p_tenant_id, p_unit_id, 'event.emitted', 'session:' || p_session_id,
        jsonb_build_object('type', p_type, 'payload', p_payload), 'executor_worker');
end
$$;
