-- What all calls of people on steps and tasks share: lock the run, answer a repeated call, check who calls, change the
-- state, store the answer.

-- The beginning of every call: locks the run, returns the first answer to a repeated call, and refuses a step that a
-- worker carries out.
-- Raises: SW001 for a key that is too long; SW002 when there is no such step; SW003 when a worker carries it out, or when a hold
--   stops it: then it can only be released.
create or replace function stepwell._step_enter(p_tenant_id int, p_unit_id bigint, p_call text, p_key text)
returns jsonb
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_answer constant jsonb := stepwell._step_answer(p_tenant_id, p_unit_id, p_call, p_key);
    v_unit stepwell.work_unit;
begin
    if v_answer is null then
        select u.* into v_unit from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
        perform stepwell._step_people_check(v_unit);
        if p_call <> 'step_release' then
            perform stepwell._hold_refuse(p_tenant_id, p_unit_id, null);
        end if;
    end if;
    -- A change of the state deletes the timer that would have bound the inputs of a step from an earlier release.
    if exists (select from stepwell.timer as t
        where t.tenant_id = p_tenant_id and t.unit_id = p_unit_id and t.timer_kind = 'inputs') then
        perform stepwell._inputs_store(p_tenant_id, p_unit_id);
    end if;
    return v_answer;
end
$$;

-- Checks that people carry out the unit.
-- Raises: SW003 when a worker does.
create or replace function stepwell._step_people_check(p_unit stepwell.work_unit) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if p_unit.pic_id is null and not exists (select from stepwell._step_asks(p_unit) as a
        where a.step_kind = 'human' or (a.step_kind = 'task' and p_unit.executor_class_id is null)) then
        raise exception using errcode = 'SW003', message = format('%s is carried out by a worker, not by people',
            stepwell._title_of(p_unit.tenant_id, p_unit.unit_id));
    end if;
end
$$;

-- Locks the run of a step or task, and returns the first answer when the same call came before with the same key; else
-- null. Answers are stored in transition_idempotency under the name of the call.
-- Locks: the run, after the runs above it.
-- Raises: SW001 for a key that is too long; SW002 when there is no such step; SW007 for another tenant.
create or replace function stepwell._step_answer(p_tenant_id int, p_unit_id bigint, p_call text, p_key text)
returns jsonb
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._tenant_bound(p_tenant_id);
    perform stepwell._unit_shown_check(p_tenant_id, p_unit_id);
    if octet_length(p_key) not between 1 and stepwell._limit('limits.idempotency_key_bytes') then
        raise exception using errcode = 'SW001', column = 'key',
            message = format('key: 1 to %s bytes are accepted', stepwell._limit('limits.idempotency_key_bytes'));
    end if;
    perform stepwell._runs_lock_up(array[p_tenant_id], array[p_unit_id]);
    if not exists (select from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id and u.scope in ('step', 'task')) then
        raise exception using errcode = 'SW002', message = format('step %s does not exist', stepwell._unit_ref(p_unit_id));
    end if;
    return (
        select i.verdict from stepwell.transition_idempotency as i
        where i.tenant_id = p_tenant_id and i.unit_id = p_unit_id and i.transition_id = 'rpc:' || p_call
            and i.idempotency_key = p_key);
end
$$;

-- The end of every call: the answer, stored under the key of the call. The first answer of a key stays.
create or replace function stepwell._step_leave(
    p_tenant_id int, p_unit_id bigint, p_call text, p_key text, p_answer jsonb
) returns jsonb
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_answer jsonb;
begin
    select p_answer || jsonb_build_object('step_run_id', u.unit_id, 'run_id', stepwell._run_of(u.unit_id), 'state', u.state_code,
        'step_id', (select a.name || coalesce('[' || u.item_no || ']', '') from stepwell._step_asks(u) as a))
    into v_answer
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    if p_key is not null then
        insert into stepwell.transition_idempotency (tenant_id, unit_id, transition_id, idempotency_key, verdict, decided_at)
        values (p_tenant_id, p_unit_id, 'rpc:' || p_call, p_key, v_answer, stepwell.now())
        on conflict do nothing;
    end if;
    return v_answer;
end
$$;

-- One state change of a person's work, with its evidence. A refusal becomes an error that says what is
-- required and, when an output breaks its contract, names the field.
-- Raises: SW003 when a hold stops all work of the person; SW004 when the registry refuses.
create or replace function stepwell._step_move(
    p_tenant_id int, p_unit_id bigint, p_to_state text, p_actor_class text, p_trigger_kind text, p_trigger_ref text,
    p_actor text, p_evidence jsonb default '{}', p_payload jsonb default null
) returns jsonb
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_unit stepwell.work_unit;
    v_verdict jsonb;
begin
    if p_to_state <> 'ready' then
        perform stepwell._hold_refuse(p_tenant_id, p_unit_id, p_actor);
    end if;
    select u.* into v_unit from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    v_verdict := stepwell._state_change(
        p_unit_id, v_unit.scope, v_unit.state_code, p_to_state,
        case when v_unit.scope = 'task' and p_actor_class = 'pic_human' then 'task_pic_human' else p_actor_class end,
        p_trigger_kind, p_trigger_ref,
        jsonb_build_object('audit_ref', 'person:' || p_actor, 'actor', p_actor) || p_evidence
            || case when p_payload is null then '{}' else jsonb_build_object('payload', p_payload) end,
        false, p_tenant_id);
    if not (v_verdict ->> 'ok')::boolean then
        perform stepwell._refuse(p_tenant_id, p_unit_id, p_to_state,
            array(select jsonb_array_elements_text(v_verdict -> 'problems')),
            jsonb_build_object('actor', p_actor, 'payload', p_payload) || p_evidence);
    end if;
    return v_verdict;
end
$$;

-- A step or task that waited or was blocked continues: the event says what has come, the reference names the proof.
create or replace function stepwell._step_continue(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_resolution_ref text, p_key text, p_call text, p_actor_class text,
    p_trigger_ref text
) returns jsonb
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_answer jsonb := stepwell._step_enter(p_tenant_id, p_unit_id, p_call, p_key);
begin
    p_resolution_ref := stepwell._redact_text(p_resolution_ref);
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'step.work');
    if v_answer is null then
        perform stepwell._step_actor_check(p_tenant_id, p_unit_id, p_actor, 'actor_takes_part');
        v_answer := stepwell._step_move(p_tenant_id, p_unit_id, 'in_progress', p_actor_class, 'event', p_trigger_ref, p_actor,
            jsonb_strip_nulls(jsonb_build_object('resolution_ref', p_resolution_ref)));
        v_answer := stepwell._step_leave(p_tenant_id, p_unit_id, p_call, p_key, v_answer);
    end if;
    return v_answer;
end
$$;

-- Checks that this person may make this call, by the named guard: actor_oversees accepts those who oversee the unit,
-- actor_is_responsible also the person in charge, actor_takes_part also candidates. Returns the id of the person.
-- Raises: SW002 when there is no such person; SW004 naming the guard.
create or replace function stepwell._step_actor_check(p_tenant_id int, p_unit_id bigint, p_actor text, p_guard text)
returns bigint
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_person_id constant bigint := stepwell._person_find(p_tenant_id, p_actor);
    v_unit stepwell.work_unit;
begin
    select u.* into v_unit from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    if not stepwell._guard_named(p_guard, v_unit, jsonb_build_object('actor_id', v_person_id), stepwell.now()) then
        perform stepwell._refuse(p_tenant_id, p_unit_id, null, array['transition_refused_by_guard:' || p_guard],
            jsonb_build_object('actor', p_actor));
    end if;
    return v_person_id;
end
$$;

-- Checks that the caller is the person in charge. Returns the id of the person.
-- Raises: SW002 when there is no such person; SW004 naming the guard actor_is_pic.
create or replace function stepwell._step_pic_check(p_tenant_id int, p_unit_id bigint, p_actor text) returns bigint
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_person_id constant bigint := stepwell._person_find(p_tenant_id, p_actor);
begin
    if not exists (select from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id and u.pic_id = v_person_id) then
        perform stepwell._refuse(p_tenant_id, p_unit_id, null, array['transition_refused_by_guard:actor_is_pic'],
            jsonb_build_object('actor', p_actor));
    end if;
    return v_person_id;
end
$$;

-- Checks that a person may take the unit.
-- Raises: SW007 when the person is no candidate, naming who is.
create or replace function stepwell._step_candidate_check(p_unit stepwell.work_unit, p_person_id bigint) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if not stepwell._step_candidate(p_unit, p_person_id) then
        raise exception using errcode = 'SW007', message = format('%s may not take %s; it is for %s',
            stepwell._person_name(p_unit.tenant_id, p_person_id), stepwell._title_of(p_unit.tenant_id, p_unit.unit_id),
            (select concat_ws(' or ', 'role ' || a.role, a.assignee) from stepwell._step_asks(p_unit) as a));
    end if;
end
$$;

-- Puts another person, or nobody, in charge of a unit, with an event. The same person changes nothing.
create or replace function stepwell._pic_change(
    p_tenant_id int, p_unit_id bigint, p_person_id bigint, p_actor text, p_reason text
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_scope text;
begin
    update stepwell.work_unit as u set pic_id = p_person_id
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id and u.pic_id is distinct from p_person_id
    returning u.scope into v_scope;
    if found then
        perform stepwell._event_append(p_tenant_id, p_unit_id, v_scope || '.pic_changed', p_actor,
            jsonb_strip_nulls(jsonb_build_object('reason', p_reason, 'pic', (select p.person_name from stepwell.person as p
                where p.tenant_id = p_tenant_id and p.person_id = p_person_id))),
            'pic_human');
    end if;
end
$$;
