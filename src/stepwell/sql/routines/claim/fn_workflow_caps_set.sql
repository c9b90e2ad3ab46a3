-- Purpose: caps of one workflow, which override those of its tenant for its own runs. Settings given are set, with null a cap
--   is taken away; those not given stay. A cap on concurrency holds for runs that start from now on.
-- Locks: the workflow's row, then the row of its concurrency key.
-- Idempotency: the same settings change nothing.
-- Raises: SW001 naming a setting that is unknown or out of range; SW002 when the workflow does not exist; SW007 for another
--   tenant.
create or replace function stepwell.fn_workflow_caps_set(p_tenant_id int, p_workflow_name text, p_settings jsonb) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_workflow stepwell.workflow_registry;
begin
    perform stepwell._tenant_bound(p_tenant_id);
    perform stepwell._caps_check(p_settings, array['max_concurrency', 'max_runs_per_min', 'max_writes_per_run']);
    update stepwell.workflow_registry as w set
        max_concurrency = case when p_settings ? 'max_concurrency'
            then (p_settings ->> 'max_concurrency')::int else w.max_concurrency end,
        max_runs_per_min = case when p_settings ? 'max_runs_per_min'
            then (p_settings ->> 'max_runs_per_min')::int else w.max_runs_per_min end,
        max_writes_per_run = case when p_settings ? 'max_writes_per_run'
            then (p_settings ->> 'max_writes_per_run')::int else w.max_writes_per_run end
    where w.tenant_id = p_tenant_id and w.workflow_name = p_workflow_name
    returning w.* into v_workflow;
    if not found then
        raise exception using errcode = 'SW002', message = format('workflow %s is not published', p_workflow_name);
    end if;
    update stepwell.concurrency_slot as s set max_count = coalesce(v_workflow.max_concurrency, 2147483647)
    where s.tenant_id = p_tenant_id and s.slot_key = 'workflow:' || v_workflow.workflow_id;
    if found then
        perform stepwell._slots_fill(array[p_tenant_id], array['workflow:' || v_workflow.workflow_id], null);
        perform stepwell._workers_wake(null);
    end if;
end
$$;
