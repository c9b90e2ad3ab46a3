-- Purpose: takes the lock under which everything inside these runs happens: the run_progress row of a run, or the
--   unit row of a free-standing job.
-- Locks: run_progress rows in run order, then free units in id order.
-- Idempotency: locks only.
-- Raises: nothing.
create or replace function stepwell._stream_lock(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._runs_lock(p_tenant_ids, p_unit_ids);
    perform 1
    from stepwell.work_unit as u
    inner join (
        select distinct q.tenant_id, q.unit_id
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        where q.unit_id & 1048575 = 0
    ) as s on u.tenant_id = s.tenant_id and u.unit_id = s.unit_id
    where u.scope not in ('workflow_run', 'step', 'task')
    order by u.tenant_id, u.unit_id
    for update of u;
end
$$;
