-- Purpose: lets a failed run go on: every dead step of it gets a replay request under one approval. When the configuration
--   asks for no approval (approval.required.replay), it is granted at once and the run goes on with this call.
-- Locks: the run.
-- Idempotency: a run that is not failed is refused; a step is requested once for each time it died.
-- Raises: SW002 when there is no such run; SW003 when it has not failed, has no dead step, or belongs to another run;
--   SW007 for another tenant.
create or replace function stepwell.fn_run_retry(
    p_tenant_id int, p_run_id bigint, p_actor text, p_reason text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_state text;
    v_parent record;
    v_unit_ids bigint[];
begin
    perform stepwell._tenant_bound(p_tenant_id);
    perform stepwell._runs_lock(array[p_tenant_id], array[p_run_id << 20]);
    v_state := stepwell._run_state(p_tenant_id, p_run_id);
    if v_state <> 'failed' then
        raise exception using errcode = 'SW003',
            message = format('run %s is %s; only a failed run can be retried', p_run_id, v_state);
    end if;
    select r.parent_unit_id >> 20 as run_id into v_parent
    from stepwell.run_detail as r
    where r.tenant_id = p_tenant_id and r.run_id = p_run_id and r.parent_unit_id is not null;
    if found then
        raise exception using errcode = 'SW003', hint = format('retry run %s', v_parent.run_id),
            message = format('run %s is part of run %s, which has been told of its failure', p_run_id, v_parent.run_id);
    end if;
    select array_agg(u.unit_id order by u.unit_id) into v_unit_ids
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id between (p_run_id << 20) + 1 and ((p_run_id + 1) << 20) - 1
        and u.scope = 'step' and u.state_code = 'cannot_complete';
    if v_unit_ids is null then
        raise exception using errcode = 'SW003', message = format('run %s has no dead step to retry', p_run_id);
    end if;
    return stepwell._replay_request(p_tenant_id, v_unit_ids, p_actor, p_reason);
end
$$;
