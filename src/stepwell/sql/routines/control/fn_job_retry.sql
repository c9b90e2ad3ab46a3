-- Purpose: retries one unit by hand: a failed one now instead of at its next time, a dead one through a replay request
--   and its approval, with a fresh number of attempts. A step takes its failed run with it.
-- Locks: the run, or the job itself.
-- Idempotency: a unit that is neither failed nor dead is refused.
-- Raises: SW002 when there is no such unit; SW003 when it cannot be retried; SW004 when the registry refuses;
--   SW007 for another tenant.
create or replace function stepwell.fn_job_retry(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_reason text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_unit stepwell.work_unit;
    v_run_state text;
begin
    perform stepwell._tenant_bound(p_tenant_id);
    perform stepwell._runs_lock_up(array[p_tenant_id], array[p_unit_id]);
    perform stepwell._stream_lock(array[p_tenant_id], array[p_unit_id]);
    select u.* into v_unit from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id and u.scope in ('step', 'job');
    if not found then
        raise exception using errcode = 'SW002', message = format('job %s does not exist', p_unit_id);
    end if;
    if v_unit.scope = 'step' then
        v_run_state := stepwell._run_state(p_tenant_id, p_unit_id >> 20);
        if v_run_state in ('completed', 'cancelled') then
            raise exception using errcode = 'SW003',
                message = format('run %s has ended (%s)', p_unit_id >> 20, v_run_state);
        end if;
    end if;
    if v_unit.state_code = 'cannot_complete' then
        return stepwell._replay_request(p_tenant_id, stepwell._replay_set(p_tenant_id, p_unit_id), p_actor, p_reason);
    end if;
    if v_unit.state_code <> 'failed' then
        raise exception using errcode = 'SW003',
            message = format('job %s is %s; only a failed or dead one can be retried', p_unit_id, v_unit.state_code);
    end if;
    perform stepwell._units_dequeue(array[p_tenant_id], array[p_unit_id]);
    perform stepwell._must_apply(array[p_tenant_id], array[p_unit_id], 'ready', 'reviewer', 'rpc', 'step_retry', p_actor,
        array[jsonb_build_object('audit_ref', 'actor:' || p_actor)],
        array[jsonb_strip_nulls(jsonb_build_object('reason', p_reason))]);
    perform stepwell._slots_take(array[p_tenant_id], array[p_unit_id]);
    perform stepwell._rollups_lend(array[p_tenant_id], array[p_unit_id >> 20]);
    perform stepwell._workers_wake(array[v_unit.class_id]);
    return jsonb_build_object('state', 'ready', 'unit_ids', array[p_unit_id], 'approval_id', null);
end
$$;
