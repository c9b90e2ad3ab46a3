-- Purpose: what a step inside a map works on: its item and the place of it.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._item_read(p_tenant_id int, p_map_id bigint, p_item_no int) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return (
        select jsonb_build_object('item', i.item, 'index', i.item_no)
        from stepwell.map_item as i
        where i.tenant_id = p_tenant_id and i.unit_id = p_map_id and i.item_no = p_item_no);
end
$$;
