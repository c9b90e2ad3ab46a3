-- Purpose: locks the runs of these units: everything inside a run happens under this lock. Says whether one of them is
--   paused.
-- Locks: run_progress rows in (tenant, run) order; free-standing jobs have none.
-- Idempotency: locks only.
-- Raises: nothing.
create or replace function stepwell._runs_lock(p_tenant_ids int[], p_unit_ids bigint[]) returns boolean
language plpgsql volatile
as $$
declare
    v_is_frozen boolean;
begin
    if cardinality(p_unit_ids) = 1 then
        -- Most calls of an idle system: the plan for one row costs a third of the plan for many.
        select p.frozen_at is not null into v_is_frozen
        from stepwell.run_progress as p
        where p.tenant_id = p_tenant_ids[1] and p.run_id = p_unit_ids[1] >> 20
        for update;
    else
        select bool_or(l.is_frozen) into v_is_frozen from (
            select p.frozen_at is not null as is_frozen
            from (
                select distinct q.tenant_id, q.unit_id >> 20 as run_id
                from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
            ) as s
            inner join stepwell.run_progress as p on s.tenant_id = p.tenant_id and s.run_id = p.run_id
            order by p.tenant_id, p.run_id
            for update of p
        ) as l;
    end if;
    return coalesce(v_is_frozen, false);
end
$$;
