-- Purpose: locks the runs of these units and every run above them, so that what happens below can be handed up without
--   giving way. For calls at the pace of people and keepers; reports lock no more than their runs.
-- Locks: run_progress rows in (tenant, run) order, which is from the top: a parent has a lower number than its child.
-- Idempotency: locks only.
-- Raises: nothing.
create or replace function stepwell._runs_lock_up(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_up record;
begin
    with recursive up as (
        select q.tenant_id, q.unit_id >> 20 as run_id from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        union
        select p.tenant_id, p.parent_run_id
        from up as u
        inner join stepwell.run_progress as p on u.tenant_id = p.tenant_id and u.run_id = p.run_id
        where p.parent_run_id is not null
    )
    select array_agg(u.tenant_id) as tenant_ids, array_agg(u.run_id << 20) as unit_ids into v_up from up as u;
    perform stepwell._runs_lock(v_up.tenant_ids, v_up.unit_ids);
end
$$;
