-- Purpose: one more write of a run, if its cap allows: the workflow's, else the tenant's, else that of the installation.
-- Locks: the run's row in run_write_count, last.
-- Idempotency: none; one call, one write.
-- Raises: nothing; false when the cap is reached.
create or replace function stepwell._writes_take(p_tenant_id int, p_unit_id bigint) returns boolean
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_limit constant int := coalesce(
        (select w.max_writes_per_run from stepwell.run_detail as r
            inner join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
            where r.tenant_id = p_tenant_id and r.run_id = p_unit_id >> 20),
        (select t.max_writes_per_run from stepwell.tenant as t where t.tenant_id = p_tenant_id),
        stepwell._limit('limits.writes_per_run'));
begin
    insert into stepwell.run_write_count as c (tenant_id, unit_id, write_count)
    select p_tenant_id, (p_unit_id >> 20) << 20, 1
    where v_limit > 0
    on conflict (tenant_id, unit_id) do update set write_count = c.write_count + 1
    where c.write_count < v_limit;
    return found;
end
$$;
