-- The dead jobs of a job workflow are retried.

-- Retries the dead jobs of a job workflow, all under one approval, as fn_run_retry does for a run. A workflow whose other jobs go on
-- can be retried too: dead jobs freeze nothing.
-- Locks: the run with those above it.
-- Idempotency: a job is requested once for each time it died.
-- Raises: SW002 when there is no such workflow; SW003 when no job of it is dead, or it has ended otherwise, or has failed inside another:
--   then the job of the outer workflow is retried, which emits it again; SW007 when nobody has the name of the actor, when the actor may not, or for another tenant.
create or replace function stepwell.fn_job_workflow_retry(
    p_tenant_id int, p_workflow_id bigint, p_actor text, p_reason text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_actor constant text := stepwell._actor_known(p_tenant_id, p_actor, 'run.retry');
    v_state text;
    v_unit_ids bigint[];
begin
    perform stepwell._graph_find(p_tenant_id, p_workflow_id);
    perform stepwell._runs_lock_up(array[p_tenant_id], array[stepwell._run_unit(p_workflow_id)]);
    v_state := stepwell._run_state(p_tenant_id, p_workflow_id);
    if v_state = 'failed' then
        -- Refuses what a retry of the run refuses.
        v_unit_ids := stepwell._run_dead_steps(p_tenant_id, p_workflow_id);
    elsif v_state in ('in_progress', 'paused') then
        v_unit_ids := array(select u.unit_id from stepwell.work_unit as u
            where u.tenant_id = p_tenant_id and u.scope = 'step' and u.state_code = 'cannot_complete'
                and u.unit_id between stepwell._run_unit(p_workflow_id) + 1 and stepwell._run_last(p_workflow_id)
            order by u.unit_id);
    end if;
    if coalesce(cardinality(v_unit_ids), 0) = 0 then
        raise exception using errcode = 'SW003', message = format('job workflow %s is %s and has no dead job to retry', p_workflow_id,
            stepwell._graph_status_computed(p_tenant_id, p_workflow_id));
    end if;
    return stepwell._replay_request(p_tenant_id, v_unit_ids, v_actor, stepwell._redact_text(p_reason));
end
$$;
