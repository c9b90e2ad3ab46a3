-- Who is in charge of a step: it is claimed, released, assigned, delegated.

-- A person takes a ready step or task (T2) and is in charge of it from now on.
-- Locks: the run.
-- Idempotency: by key; the person in charge gets the same answer again.
-- Raises: SW002 when step or person do not exist; SW003 when another person is in charge or the run is paused; SW004
--   when the registry refuses; SW007 when the person is no candidate.
create or replace function stepwell.fn_step_claim(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_answer jsonb := stepwell._step_enter(p_tenant_id, p_unit_id, 'step_claim', p_key);
    v_person_id constant bigint := stepwell._person_find(p_tenant_id, p_actor);
    v_unit stepwell.work_unit;
begin
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'step.work');
    if v_answer is not null then
        return v_answer;
    end if;
    select u.* into v_unit from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    if v_unit.pic_id = v_person_id and v_unit.state_code in ('in_progress', 'overdue') then
        return stepwell._step_leave(p_tenant_id, p_unit_id, 'step_claim', p_key, '{"ok": true}');
    end if;
    perform stepwell._claim_check(v_unit, v_person_id);
    perform stepwell._pic_change(p_tenant_id, p_unit_id, v_person_id, p_actor, null);
    v_answer := stepwell._step_move(p_tenant_id, p_unit_id, 'in_progress', 'pic_human', 'rpc', 'step_claim', p_actor,
        jsonb_build_object('actor_id', v_person_id));
    perform stepwell._deadline_begin(p_tenant_id, p_unit_id);
    return stepwell._step_leave(p_tenant_id, p_unit_id, 'step_claim', p_key, v_answer);
end
$$;

-- Checks that a person may take the unit now: nobody else is in charge, its run is not paused, the person is a candidate.
-- Raises: SW003 when another person is in charge or the run is paused; SW007 when the person is no candidate.
create or replace function stepwell._claim_check(p_unit stepwell.work_unit, p_person_id bigint) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if p_unit.pic_id <> p_person_id then
        raise exception using errcode = 'SW003', message = format('%s is in charge of %s',
            stepwell._person_name(p_unit.tenant_id, p_unit.pic_id), stepwell._title_of(p_unit.tenant_id, p_unit.unit_id));
    end if;
    if stepwell._run_state(p_unit.tenant_id, stepwell._run_of(p_unit.unit_id)) = 'paused' then
        raise exception using errcode = 'SW003',
            message = format('run %s is paused; resume it first', stepwell._run_of(p_unit.unit_id));
    end if;
    perform stepwell._step_candidate_check(p_unit, p_person_id);
end
$$;

-- The person in charge gives a step or task back (T2r); it is ready for any candidate again.
-- Locks: the run.
-- Idempotency: by key.
-- Raises: SW002 when step or person do not exist; SW004 when the registry refuses, also by the guard actor_is_pic.
create or replace function stepwell.fn_step_release(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_reason text default null, p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_answer jsonb := stepwell._step_enter(p_tenant_id, p_unit_id, 'step_release', p_key);
begin
    p_reason := stepwell._redact_text(p_reason);
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'step.work');
    if v_answer is null then
        v_answer := stepwell._step_move(p_tenant_id, p_unit_id, 'ready', 'pic_human', 'rpc', 'step_release', p_actor,
            jsonb_build_object('actor_id', stepwell._person_find(p_tenant_id, p_actor)),
            jsonb_strip_nulls(jsonb_build_object('reason', p_reason)));
        perform stepwell._pic_change(p_tenant_id, p_unit_id, null, p_actor, p_reason);
        v_answer := stepwell._step_leave(p_tenant_id, p_unit_id, 'step_release', p_key, v_answer);
    end if;
    return v_answer;
end
$$;

-- Puts a person in charge of an open step or task, instead of the present person in charge.
-- Locks: the run.
-- Idempotency: by key; the same person again changes nothing.
-- Raises: SW002 when step or person do not exist; SW003 when the step has ended; SW004 naming the guard
--   actor_is_responsible; SW007 when the person is no candidate.
create or replace function stepwell.fn_step_assign(
    p_tenant_id int, p_unit_id bigint, p_person text, p_actor text, p_reason text default null, p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_answer jsonb := stepwell._step_enter(p_tenant_id, p_unit_id, 'step_assign', p_key);
    v_person_id constant bigint := stepwell._person_find(p_tenant_id, p_person);
    v_unit stepwell.work_unit;
begin
    p_reason := stepwell._redact_text(p_reason);
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'step.work');
    if v_answer is not null then
        return v_answer;
    end if;
    select u.* into v_unit from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    perform stepwell._assign_check(v_unit);
    -- Persons who may take a step without anybody in charge may also assign it to themselves.
    if p_actor is distinct from p_person or coalesce(v_unit.pic_id, v_person_id) <> v_person_id then
        perform stepwell._step_actor_check(p_tenant_id, p_unit_id, p_actor, 'actor_is_responsible');
    end if;
    perform stepwell._step_candidate_check(v_unit, v_person_id);
    perform stepwell._pic_change(p_tenant_id, p_unit_id, v_person_id, p_actor, p_reason);
    return stepwell._step_leave(p_tenant_id, p_unit_id, 'step_assign', p_key, '{"ok": true}');
end
$$;

-- Checks that a person can be in charge of the unit in its state.
-- Raises: SW003 when it is not open.
create or replace function stepwell._assign_check(p_unit stepwell.work_unit) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if p_unit.state_code not in ('ready', 'in_progress', 'waiting', 'blocked', 'overdue') then
        raise exception using errcode = 'SW003', message = format('%s is %s; only an open step can be assigned',
            stepwell._title_of(p_unit.tenant_id, p_unit.unit_id), p_unit.state_code);
    end if;
end
$$;

-- The person in charge gives a step or task to another candidate; its state stays.
-- Locks: the run.
-- Idempotency: by key.
-- Raises: SW002 when step or person do not exist; SW004 naming the guard actor_is_pic; SW007 when the other person is
--   no candidate.
create or replace function stepwell.fn_step_delegate(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_person text, p_reason text default null, p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_answer jsonb := stepwell._step_enter(p_tenant_id, p_unit_id, 'step_delegate', p_key);
begin
    p_reason := stepwell._redact_text(p_reason);
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'step.work');
    if v_answer is not null then
        return v_answer;
    end if;
    perform stepwell._step_pic_check(p_tenant_id, p_unit_id, p_actor);
    perform stepwell.fn_step_assign(p_tenant_id, p_unit_id, p_person, p_actor, p_reason);
    return stepwell._step_leave(p_tenant_id, p_unit_id, 'step_delegate', p_key, '{"ok": true}');
end
$$;

-- Sets the deadline of a step whose deadline counts from its start, when a person first takes it. A deadline that is
-- set stays.
create or replace function stepwell._deadline_begin(p_tenant_id int, p_unit_id bigint) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    update stepwell.work_unit as u set deadline_at = stepwell._deadline_of(u.tenant_id, d.config, stepwell.now())
    from stepwell.workflow_step_def as d
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id and u.scope = 'step' and u.deadline_at is null
        and d.tenant_id = u.tenant_id and d.version_id = u.version_id and d.step_no = u.def_no
        and d.config ->> 'deadline_from' = 'start';
    if found then
        perform stepwell._people_timers(p_tenant_id, array[p_unit_id]);
    end if;
end
$$;
