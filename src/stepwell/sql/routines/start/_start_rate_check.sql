-- Purpose: holds the caps on how many runs may start within a minute, the tenant's and the workflow's own; called after
--   the new runs are written, so that a trigger seen before costs nothing.
-- Locks: an advisory lock of the tenant's starts, when there is a cap: they are counted one after the other, and claims do
--   not wait for them.
-- Idempotency: reads only.
-- Raises: SW006 saying when the next start is possible.
create or replace function stepwell._start_rate_check(p_tenant_id int, p_workflow_id int, p_now timestamptz) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_cap record;
    v_free_at timestamptz;
begin
    select t.tenant_code, w.workflow_name, t.max_runs_per_min as of_tenant, w.max_runs_per_min as of_workflow into v_cap
    from stepwell.tenant as t
    inner join stepwell.workflow_registry as w on t.tenant_id = w.tenant_id and w.workflow_id = p_workflow_id
    where t.tenant_id = p_tenant_id;
    if v_cap.of_tenant is null and v_cap.of_workflow is null then
        return;
    end if;
    perform pg_advisory_xact_lock(hashtext('stepwell.start'), p_tenant_id);
    -- The override of a workflow counts its own runs; otherwise all runs of the tenant count.
    if v_cap.of_workflow is not null then
        select r.created_at + interval '1 minute' into v_free_at
        from stepwell.run_detail as r
        where r.tenant_id = p_tenant_id and r.workflow_id = p_workflow_id and r.parent_unit_id is null
        order by r.run_id desc offset v_cap.of_workflow limit 1;
    else
        select r.created_at + interval '1 minute' into v_free_at
        from stepwell.run_detail as r
        where r.tenant_id = p_tenant_id and r.parent_unit_id is null
        order by r.run_id desc offset v_cap.of_tenant limit 1;
    end if;
    if v_free_at > p_now then
        raise exception using errcode = 'SW006', column = 'max_runs_per_min', message = format(
            '%s may start %s runs a minute; these would be more: try again at %s',
            case when v_cap.of_workflow is null then 'tenant ' || v_cap.tenant_code else 'workflow ' || v_cap.workflow_name end,
            coalesce(v_cap.of_workflow, v_cap.of_tenant), to_char(v_free_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'));
    end if;
end
$$;
