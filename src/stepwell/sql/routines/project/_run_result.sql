-- Purpose: the result of a run: the output of its only last step, or an object of the last steps' outputs by id.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._run_result(p_tenant_id int, p_run_id bigint) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return (
        select case count(*) when 1 then jsonb_agg(o.output) -> 0
            else jsonb_object_agg(d.step_id, coalesce(o.output, 'null')) end
        from stepwell.run_detail as r
        inner join stepwell.workflow_step_def as d on r.tenant_id = d.tenant_id and r.version_id = d.version_id and d.is_last
        inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and u.unit_id = (r.run_id << 20) | d.step_no
        left join lateral (
            select x.output from stepwell.unit_output as x
            where x.tenant_id = u.tenant_id and x.unit_id = u.unit_id order by x.lease_no desc limit 1
        ) as o on true
        where r.tenant_id = p_tenant_id and r.run_id = p_run_id and u.state_code = 'completed');
end
$$;
