-- Purpose: items that were called off with their map and wait again have nothing before them that could release them: those
--   of these maps begin now.
-- Locks: the caller holds the run.
-- Idempotency: items that have begun are passed over.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._items_release(p_tenant_id int, p_map_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_free record;
begin
    select array_agg(p_tenant_id) as tenant_ids, array_agg(u.unit_id order by u.unit_id) as unit_ids, array_agg(0) as counts
    into v_free
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.parent_id = any (p_map_ids) and u.scope = 'step'
        and u.state_code = 'not_started' and u.pending_count = 0;
    perform stepwell._units_ready(v_free.tenant_ids, v_free.unit_ids, v_free.counts, true, true);
end
$$;
