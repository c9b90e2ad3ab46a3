-- Purpose: takes the lock under which everything inside these runs happens: the run_progress row of a run, or the
--   unit row of a free-standing job.
-- Locks: run_progress rows in run order, then ready rows of free units, then free units in id order: a claim holds the
--   ready row and goes for the unit, so whoever went the other way round would meet it.
-- Idempotency: locks only.
-- Raises: nothing.
create or replace function stepwell._stream_lock(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._runs_lock(p_tenant_ids, p_unit_ids);
    perform 1
    from (
        select u.tenant_id, u.class_id, -u.priority as rank, u.unit_id
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        where q.unit_id & 1048575 = 0 and u.scope = 'job'
    ) as f
    inner join stepwell.job_ready as r
        on f.tenant_id = r.tenant_id and f.class_id = r.class_id and f.rank = r.rank and f.unit_id = r.unit_id
    order by r.tenant_id, r.unit_id
    for update of r;
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
