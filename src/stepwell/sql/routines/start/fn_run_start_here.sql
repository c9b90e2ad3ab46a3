-- Purpose: starts one run for a caller that has a worker at its side, and leases to that worker's session what it has room
--   for, in the same commit: the way of the first step through a notification and a claim of its own is saved. What is
--   claimed is what any claim would get. The first row, of kind `started`, has the run in the place of the unit and
--   whether it is new in that of the lease number.
-- Locks: as fn_run_start, then as fn_job_claim.
-- Idempotency: by trigger; the claim as fn_job_claim.
-- Raises: as fn_run_start; SW005 when the session has ended, and then nothing is started.
create or replace function stepwell.fn_run_start_here(
    p_session_id bigint,
    p_claim_limit int,
    p_tenant_id int,
    p_workflow_name text,
    p_inputs jsonb[],
    p_trigger_refs text[] default null,
    p_trigger_type text default null,
    p_actor text default 'client',
    p_version_no int default null,
    p_priority int default 0,
    p_trace_id text default null,
    p_correlation_id text default null,
    p_is_watched boolean default false
) returns setof stepwell.job_lease
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    return query
    select 'started', p_tenant_id, s.run_id, s.is_new::int, null::bigint, null, null::int, null::int, null::real,
        null, null::jsonb, null::jsonb, null::jsonb, null::jsonb, null, null, null::timestamptz
    from stepwell.fn_run_start(p_tenant_id, p_workflow_name, p_inputs, p_trigger_refs, p_trigger_type, p_actor, p_version_no,
        p_priority, p_trace_id, p_correlation_id, p_is_watched, p_wakes => false) as s;
    return query select c.* from stepwell.fn_job_claim(p_session_id, p_claim_limit) as c;
    perform stepwell._workers_wake(null);
end
$$;
