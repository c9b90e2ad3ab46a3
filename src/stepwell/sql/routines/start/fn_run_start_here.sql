-- Purpose: starts one run for a caller that has a worker at its side, and leases to that worker's session what it has room
--   for, in the same commit: the way of the first step through a notification, the queue and a claim of its own is saved.
--   What is claimed is what any claim would get. The first row, of kind `started`, has the run in the place of the unit and
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
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set random_page_cost = 0.01
set join_collapse_limit = 1
set jit = off
as $$
declare
    v_session record;
    v_started record;
begin
    perform stepwell._tenant_bound(p_tenant_id);
    v_session := stepwell._session_of(p_session_id);
    v_started := stepwell._runs_start(p_tenant_id, p_workflow_name, p_inputs, p_trigger_refs, p_trigger_type, p_actor,
        p_version_no, p_priority, p_trace_id, p_correlation_id, p_is_watched, p_session_id, v_session.class_ids, p_claim_limit);
    return query
    select 'started', p_tenant_id, s.run_id, s.is_new::int, null::bigint, null, null::int, null::int, null::real,
        null, null::jsonb, null::jsonb, null::jsonb, null::jsonb, null, null, null::timestamptz
    from stepwell._runs_started(p_tenant_id, coalesce(p_trigger_type, p_workflow_name), p_trigger_refs, v_started.new_ids) as s;
    return query
    select c.* from stepwell._claim(p_session_id, v_session.class_ids, v_session.is_idle, p_claim_limit, v_session.now,
        p_tenant_id, v_started.handed_ids, v_started.new_ids is not null and not v_started.leaves_more) as c;
    if v_started.leaves_more then
        perform stepwell._workers_wake(null);
    end if;
end
$$;
