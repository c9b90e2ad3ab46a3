-- Purpose: what woke a unit that had waited, or nothing.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._wake_read(p_tenant_id int, p_unit_id bigint) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return (
        select jsonb_build_object('task_type', w.task_type, 'event_type', w.event_type, 'payload', w.payload)
        from stepwell.unit_wake as w
        where w.tenant_id = p_tenant_id and w.unit_id = p_unit_id);
end
$$;
