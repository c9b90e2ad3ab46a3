-- A client waits for the end of a run.

-- The state of a run, for a client that will wait for its end: from now on its end is notified on the channel
-- stepwell_ended, with the number of the run. No rows when there is no such run.
-- Locks: the row of the run in run_detail.
-- Idempotency: yes.
-- Raises: SW007 for another tenant.
create or replace function stepwell.fn_run_watch(p_tenant_id int, p_run_id bigint)
returns table (state_code text, result jsonb)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._tenant_bound(p_tenant_id);
    update stepwell.run_detail as r set is_watched = true
    where r.tenant_id = p_tenant_id and r.run_id = p_run_id and r.finished_at is null and not r.is_watched;
    return query
    select u.state_code, case when u.state_code = 'completed' then stepwell._run_result(u.tenant_id, stepwell._run_of(u.unit_id)) end
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = stepwell._run_unit(p_run_id);
end
$$;
