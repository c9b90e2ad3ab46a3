-- Waiting for the end of a run.

-- How a run stands, for somebody who will wait for its end: whoever ends it says so on channel stepwell_ended, with the
-- number of the run. No rows when there is no such run.
-- Locks: the run's particulars.
-- Idempotency: watching twice is watching once.
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
    select u.state_code, case when u.state_code = 'completed' then stepwell._run_result(u.tenant_id, u.unit_id >> 20) end
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = p_run_id << 20;
end
$$;
