-- Purpose: starts n runs of a workflow in one call: run, every known step and the first jobs, in one transaction.
--   A (tenant, trigger_type, trigger_ref) seen before returns the run it started then. The end of a run that is watched
--   is told, as fn_run_watch says; one that was there before is not watched by this. Idle workers are woken, unless the
--   caller says that it does so itself.
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
    p_is_watched boolean default false,
    p_wakes boolean default true
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
#variable_conflict use_column
declare
    v_now constant timestamptz := stepwell.now();
    v_trigger_type constant text := coalesce(p_trigger_type, p_workflow_name);
    v_version stepwell.workflow_version;
    v_new_ids bigint[];
begin
    perform stepwell._tenant_bound(p_tenant_id);
    perform stepwell._start_input_check(p_inputs, p_trigger_refs, p_priority, p_trace_id);
    v_version := stepwell._version_find(p_tenant_id, p_workflow_name, p_version_no);
    with fresh as (
        insert into stepwell.run_detail (
            tenant_id, run_id, version_id, workflow_id, trigger_type, trigger_ref, input, trace_id, correlation_id,
            started_by, next_unit_no, created_at, is_watched)
        select
            p_tenant_id, nextval('stepwell.stream_seq'), v_version.version_id, v_version.workflow_id, v_trigger_type,
            q.trigger_ref, coalesce(q.input, '{}'), p_trace_id, p_correlation_id, p_actor, v_version.step_count + 1, v_now,
            p_is_watched
        from unnest(p_inputs, p_trigger_refs) with ordinality as q (input, trigger_ref, ord)
        order by q.trigger_ref, q.ord
        on conflict do nothing
        returning run_id, trigger_ref
    )
    select array_agg(f.run_id order by f.run_id) into v_new_ids from fresh as f;
    if v_new_ids is not null then
        perform stepwell._start_rate_check(p_tenant_id, v_version.workflow_id, v_now);
        perform stepwell._run_create(p_tenant_id, v_version, v_new_ids, p_priority, p_actor);
        if p_wakes then
            perform stepwell._workers_wake(null);
        end if;
    end if;
    if p_trigger_refs is null then
        return query select n.run_id, true from unnest(v_new_ids) as n (run_id) order by n.run_id;
    else
        return query
        select r.run_id, coalesce(r.run_id = any (v_new_ids), false)
        from unnest(p_trigger_refs) with ordinality as q (trigger_ref, ord)
        inner join stepwell.run_detail as r
            on r.tenant_id = p_tenant_id and r.trigger_type = v_trigger_type and r.trigger_ref = q.trigger_ref
        order by q.ord;
    end if;
end
$$;
