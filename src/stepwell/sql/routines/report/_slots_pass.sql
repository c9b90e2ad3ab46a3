-- Purpose: after one breath of completions and releases: units with a concurrency key that ended give their slot back,
--   those that became ready stand in line, and whoever is next enters.
-- Locks: concurrency_slot rows in key order.
-- Idempotency: none; called once per accepted batch.
-- Raises: nothing.
create or replace function stepwell._slots_pass(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_part record;
begin
    select
        array_agg(u.tenant_id) filter (where u.state_code = 'ready') as ready_tenant_ids,
        array_agg(u.unit_id) filter (where u.state_code = 'ready') as ready_ids,
        array_agg(u.tenant_id) filter (where u.state_code <> 'ready') as ended_tenant_ids,
        array_agg(u.unit_id) filter (where u.state_code <> 'ready') as ended_ids
    into v_part
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id;
    if v_part.ended_ids is not null then
        perform stepwell._slots_free(v_part.ended_tenant_ids, v_part.ended_ids);
    end if;
    if v_part.ready_ids is not null then
        perform stepwell._slots_take(v_part.ready_tenant_ids, v_part.ready_ids);
    end if;
end
$$;
