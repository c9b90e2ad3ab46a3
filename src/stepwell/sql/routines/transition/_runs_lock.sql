-- Purpose: locks the runs of these units and the runs above them (a sub-workflow reports to its parent), lowest id
--   first. A parent is always older than its child, so every path takes these locks in the same order.
-- Locks: run_progress rows in (tenant, run) order.
-- Idempotency: locks only.
-- Raises: nothing.
create or replace function stepwell._runs_lock(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set random_page_cost = 0.01
as $$
begin
    perform 1
    from (
        with recursive up as (
            select p.tenant_id, p.run_id, p.parent_run_id
            from (
                select distinct q.tenant_id, q.unit_id >> 20 as run_id
                from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
            ) as s
            inner join stepwell.run_progress as p on s.tenant_id = p.tenant_id and s.run_id = p.run_id
            union
            select p.tenant_id, p.run_id, p.parent_run_id
            from up as u
            inner join stepwell.run_progress as p on u.tenant_id = p.tenant_id and u.parent_run_id = p.run_id
        )
        select u.tenant_id, u.run_id from up as u
    ) as s
    inner join stepwell.run_progress as p on s.tenant_id = p.tenant_id and s.run_id = p.run_id
    order by p.tenant_id, p.run_id
    for update of p;
end
$$;
