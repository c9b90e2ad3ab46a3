-- Purpose: tells the next level of a step's escalation chain now; a step that failed for good is given up instead (T11).
-- Locks: the run.
-- Idempotency: by key.
-- Raises: SW002 when step or person do not exist; SW003 when nobody is left to tell; SW004 when the registry
--   or a guard of the actor (actor_takes_part, actor_oversees) refuses.
create or replace function stepwell.fn_step_escalate(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_reason text default null, p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_answer jsonb;
    v_unit stepwell.work_unit;
    v_level int;
begin
    v_answer := stepwell._step_answer(p_tenant_id, p_unit_id, 'escalate', p_key);
    if v_answer is not null then
        return v_answer;
    end if;
    select u.* into v_unit from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    -- To give a step up is not for whoever might take it.
    perform stepwell._step_actor_check(p_tenant_id, p_unit_id, p_actor,
        case v_unit.state_code when 'failed' then 'actor_oversees' else 'actor_takes_part' end);
    if v_unit.state_code = 'failed' then
        perform stepwell._units_dequeue(array[p_tenant_id], array[p_unit_id]);
        v_answer := stepwell._step_move(p_tenant_id, p_unit_id, 'cannot_complete', 'escalation_handler', 'rpc', 'escalate',
            p_actor, '{}', jsonb_strip_nulls(jsonb_build_object('failure_class', v_unit.failure_class)));
        return stepwell._step_leave(p_tenant_id, p_unit_id, 'escalate', p_key, v_answer);
    end if;
    select min(e.level) into v_level from stepwell.step_escalation as e
    where e.tenant_id = p_tenant_id and e.unit_id = p_unit_id and e.told_at is null;
    if v_level is null or v_unit.state_code not in ('ready', 'in_progress', 'waiting', 'blocked', 'overdue') then
        raise exception using errcode = 'SW003', message = format('step %s has nobody left to tell', p_unit_id);
    end if;
    perform stepwell._escalation_tell(p_tenant_id, p_unit_id, v_level, p_actor, p_reason);
    perform stepwell._people_timers(p_tenant_id, array[p_unit_id]);
    return stepwell._step_leave(p_tenant_id, p_unit_id, 'escalate', p_key, jsonb_build_object('ok', true, 'level', v_level));
end
$$;
