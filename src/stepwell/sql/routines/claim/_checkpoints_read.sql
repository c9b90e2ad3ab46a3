-- Purpose: what the handler of a unit has already done, by name, or nothing.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._checkpoints_read(p_tenant_id int, p_unit_id bigint) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return (
        select jsonb_object_agg(c.checkpoint_name, c.checkpoint_value)
        from stepwell.unit_checkpoint as c
        where c.tenant_id = p_tenant_id and c.unit_id = p_unit_id);
end
$$;
