-- A step stays open too long: people are notified, deadlines are changed.

-- Notifies the next level of the step's escalation chain now. A failed step becomes cannot_complete instead and is not
-- tried again (T11).
-- Locks: the run.
-- Idempotency: by key.
-- Raises: SW002 when step or person do not exist; SW003 when no level is left; SW004 when the registry or a guard of
--   the actor (actor_takes_part, actor_oversees) refuses.
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
    p_reason := stepwell._redact_text(p_reason);
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'step.work');
    v_answer := stepwell._step_answer(p_tenant_id, p_unit_id, 'escalate', p_key);
    if v_answer is not null then
        return v_answer;
    end if;
    select u.* into v_unit from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    -- A candidate may not end a step for good.
    perform stepwell._step_actor_check(p_tenant_id, p_unit_id, p_actor,
        case v_unit.state_code when 'failed' then 'actor_oversees' else 'actor_takes_part' end);
    if v_unit.state_code = 'failed' then
        perform stepwell._units_dequeue(array[p_tenant_id], array[p_unit_id]);
        v_answer := stepwell._step_move(p_tenant_id, p_unit_id, 'cannot_complete', 'escalation_handler', 'rpc', 'escalate',
            p_actor, '{}', jsonb_strip_nulls(jsonb_build_object('failure_class', v_unit.failure_class)));
        return stepwell._step_leave(p_tenant_id, p_unit_id, 'escalate', p_key, v_answer);
    end if;
    v_level := stepwell._escalation_next(v_unit);
    perform stepwell._escalation_tell(p_tenant_id, p_unit_id, v_level, p_actor, p_reason);
    perform stepwell._people_timers(p_tenant_id, array[p_unit_id]);
    return stepwell._step_leave(p_tenant_id, p_unit_id, 'escalate', p_key, jsonb_build_object('ok', true, 'level', v_level));
end
$$;

-- The next level of the escalation chain of a unit that is open.
-- Raises: SW003 when no level is left, or the unit is not open.
create or replace function stepwell._escalation_next(p_unit stepwell.work_unit) returns int
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_level constant int := (select min(e.level)::int from stepwell.step_escalation as e
        where e.tenant_id = p_unit.tenant_id and e.unit_id = p_unit.unit_id and e.told_at is null);
begin
    if v_level is null or p_unit.state_code not in ('ready', 'in_progress', 'waiting', 'blocked', 'overdue') then
        raise exception using errcode = 'SW003', message = format('%s has no further level to notify',
            stepwell._title_of(p_unit.tenant_id, p_unit.unit_id));
    end if;
    return v_level;
end
$$;

-- Notifies one level of the escalation chain of a unit: an event names the person or role. Each level is notified once.
create or replace function stepwell._escalation_tell(
    p_tenant_id int, p_unit_id bigint, p_level int, p_actor text, p_reason text
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_tell text;
    v_scope text;
begin
    update stepwell.step_escalation as e set told_at = stepwell.now()
    where e.tenant_id = p_tenant_id and e.unit_id = p_unit_id and e.level = p_level and e.told_at is null
    returning e.tell into v_tell;
    if found then
        select u.scope into v_scope from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
        perform stepwell._event_append(p_tenant_id, p_unit_id, v_scope || '.escalation_raised', p_actor,
            jsonb_strip_nulls(jsonb_build_object('level', p_level, 'tell', v_tell, 'reason', p_reason,
                'escalation_chain_id', 'chain:' || p_unit_id)), 'escalation_handler');
    end if;
end
$$;

-- Moves the deadline of an open step or task, whoever carries it out. An overdue one that has time again is in
-- progress again (T6); the record that it was late stays.
-- Locks: the run.
-- Idempotency: by key.
-- Raises: SW001 without a time; SW002 when step or person do not exist; SW003 when it has ended or its clock stands still under a
--   hold; SW004 when the registry or the guard actor_is_responsible refuses.
create or replace function stepwell.fn_step_deadline_change(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_deadline_at timestamptz, p_reason text default null,
    p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_answer jsonb := stepwell._step_answer(p_tenant_id, p_unit_id, 'step_deadline_change', p_key);
    v_unit stepwell.work_unit;
begin
    p_reason := stepwell._redact_text(p_reason);
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'step.work');
    if v_answer is not null then
        return v_answer;
    end if;
    perform stepwell._step_actor_check(p_tenant_id, p_unit_id, p_actor, 'actor_is_responsible');
    if p_deadline_at is null then
        raise exception using errcode = 'SW001', column = 'deadline_at', message = 'deadline_at: a time is required';
    end if;
    select u.* into v_unit from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    perform stepwell._deadline_change_check(v_unit);
    perform stepwell._hold_refuse(p_tenant_id, p_unit_id, null);
    update stepwell.work_unit as u set deadline_at = p_deadline_at, has_deadline = u.pic_id is null and not exists (
        select from stepwell._step_asks(u) as a where a.step_kind in ('human', 'task'))
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    perform stepwell._event_append(p_tenant_id, p_unit_id, v_unit.scope || '.deadline_changed', p_actor,
        jsonb_strip_nulls(jsonb_build_object('deadline_at', p_deadline_at, 'reason', p_reason)), 'pic_human');
    v_answer := '{"ok": true}';
    if v_unit.state_code = 'overdue' and p_deadline_at > stepwell.now() then
        v_answer := stepwell._step_move(p_tenant_id, p_unit_id, 'in_progress', 'system', 'condition_resolved',
            'deadline_extended', p_actor);
    end if;
    perform stepwell._people_timers(p_tenant_id, array[p_unit_id]);
    return stepwell._step_leave(p_tenant_id, p_unit_id, 'step_deadline_change', p_key, v_answer);
end
$$;

-- Checks that the deadline of a unit can be changed in its state.
-- Raises: SW003 when it has ended.
create or replace function stepwell._deadline_change_check(p_unit stepwell.work_unit) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if stepwell._has_ended(p_unit.state_code) then
        raise exception using errcode = 'SW003', message = format('%s has ended (%s); only an open step has a deadline',
            stepwell._title_of(p_unit.tenant_id, p_unit.unit_id), p_unit.state_code);
    end if;
end
$$;
