-- Somebody pauses a run, or resumes it.

-- Pauses a run: nothing of it can be claimed, running handlers may finish, its colour stays as it is.
-- Locks: the run.
-- Idempotency: a paused run stays paused.
-- Raises: SW002 when there is no such run; SW004 when the registry refuses; SW007 when the actor is
--   unknown or may not, or for another tenant.
create or replace function stepwell.fn_run_pause(p_tenant_id int, p_run_id bigint, p_actor text) returns text
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_actor constant text := stepwell._actor_known(p_tenant_id, p_actor, 'run.pause');
    v_ready_ids bigint[];
    v_held_ids bigint[];
begin
    perform stepwell._runs_lock(array[p_tenant_id], array[stepwell._run_unit(p_run_id)]);
    if stepwell._run_state(p_tenant_id, p_run_id) = 'paused' then
        return 'paused';
    end if;
    perform stepwell._units_move(array[p_tenant_id], array[stepwell._run_unit(p_run_id)], 'paused', 'reviewer', 'rpc', 'workflow_pause',
        v_actor, array[jsonb_build_object('audit_ref', 'actor:' || v_actor)]);
    update stepwell.run_progress as p set frozen_at = stepwell.now()
    where p.tenant_id = p_tenant_id and p.run_id = p_run_id;
    v_held_ids := stepwell._held_forget(p_tenant_id, p_run_id);
    with gone as (
        delete from stepwell.job_ready as r
        using stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id between stepwell._run_unit(p_run_id) + 1 and stepwell._run_last(p_run_id)
            and u.state_code in ('ready', 'failed')
            and r.executor_class_id = u.executor_class_id and r.tenant_id = u.tenant_id
            and r.workspace_id = stepwell._workspace_of(u.tenant_id, u.unit_id) and r.rank = -u.priority and r.operation_id = u.operation_id
            and r.unit_id = u.unit_id
        returning r.unit_id, u.slot_key
    )
    select array_agg(g.unit_id) filter (where g.slot_key is not null) into v_ready_ids from gone as g;
    v_ready_ids := v_ready_ids || v_held_ids;
    delete from stepwell.job_line as l
    using stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id between stepwell._run_unit(p_run_id) + 1 and stepwell._run_last(p_run_id)
        and l.tenant_id = u.tenant_id and l.slot_key = u.slot_key and l.rank = -u.priority and l.unit_id = u.unit_id;
    if v_ready_ids is not null then
        perform stepwell._slots_free(array_fill(p_tenant_id, array[cardinality(v_ready_ids)]), v_ready_ids);
    end if;
    return 'paused';
end
$$;

-- Resumes a paused run: what is ready is queued again, the colour is computed again.
-- Locks: the run, after those above it.
-- Idempotency: a run in progress stays in progress.
-- Raises: SW002 when there is no such run; SW004 when the registry refuses; SW007 when the actor is
--   unknown or may not, or for another tenant.
create or replace function stepwell.fn_run_resume(p_tenant_id int, p_run_id bigint, p_actor text) returns text
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_actor constant text := stepwell._actor_known(p_tenant_id, p_actor, 'run.pause');
    v_unit_ids bigint[];
begin
    perform stepwell._runs_lock_up(array[p_tenant_id], array[stepwell._run_unit(p_run_id)]);
    if stepwell._run_state(p_tenant_id, p_run_id) = 'in_progress' then
        return 'in_progress';
    end if;
    perform stepwell._units_move(array[p_tenant_id], array[stepwell._run_unit(p_run_id)], 'in_progress', 'reviewer', 'rpc',
        'workflow_resume', v_actor, array[jsonb_build_object('audit_ref', 'actor:' || v_actor)]);
    update stepwell.run_progress as p set frozen_at = null, last_rollup_at = stepwell.now(),
        rollup_state_code = stepwell._rollup_colour(p.red_count, p.wait_count, p.active_count)
    where p.tenant_id = p_tenant_id and p.run_id = p_run_id;
    select array_agg(u.unit_id order by u.unit_id) into v_unit_ids
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id between stepwell._run_unit(p_run_id) + 1 and stepwell._run_last(p_run_id)
        and u.executor_class_id is not null and u.state_code in ('ready', 'failed')
        and not exists (select from stepwell.timer as t
            where t.tenant_id = u.tenant_id and t.unit_id = u.unit_id and t.timer_kind in ('retry', 'start'));
    if v_unit_ids is not null then
        perform stepwell._units_queue(array_fill(p_tenant_id, array[cardinality(v_unit_ids)]), v_unit_ids);
    end if;
    perform stepwell._runs_settle(array[p_tenant_id], array[stepwell._run_unit(p_run_id)]);
    return 'in_progress';
end
$$;
