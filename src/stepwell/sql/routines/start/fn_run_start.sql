-- Purpose: starts n runs of a workflow in one call: run, every known step and the first jobs, in one transaction.
--   A (tenant, trigger_type, trigger_ref) seen before returns the run it started then. The end of a run that is watched
--   is told, as fn_run_watch says; one that was there before is not watched by this. Idle workers are woken.
-- Locks: none on existing rows; the trigger's unique index decides between two concurrent starts.
-- Idempotency: by trigger.
-- Raises: SW001 for bad input; SW002 when the workflow or version does not exist; SW006 over a limit;
--   SW007 for another tenant.
create or replace function stepwell.fn_run_start(
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
) returns table (run_id bigint, is_new boolean)
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
    v_started record;
begin
    perform stepwell._tenant_bound(p_tenant_id);
    v_started := stepwell._runs_start(p_tenant_id, p_workflow_name, p_inputs, p_trigger_refs, p_trigger_type, p_actor,
        p_version_no, p_priority, p_trace_id, p_correlation_id, p_is_watched);
    if v_started.leaves_more then
        perform stepwell._workers_wake(null);
    end if;
    return query
    select s.run_id, s.is_new
    from stepwell._runs_started(p_tenant_id, coalesce(p_trigger_type, p_workflow_name), p_trigger_refs, v_started.new_ids) as s;
end
$$;
