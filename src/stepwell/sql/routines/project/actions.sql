-- What a caller may do with a unit now. The rows of unit_action name the calls; the registry, the verbs and the checks of the
-- calls themselves decide. A page shows the answer and decides nothing.

-- The calls on a run, step, task or job: whether this actor, or else who is bound, may make each now; if not, why; the approval that it requires, and
-- the one that is granted. A call that is allowed may still be refused for what it carries, such as an output that does not fit.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when there is no such unit; SW007 for another tenant, or when the actor is not who is bound.
create or replace function stepwell.fn_actions_read(p_tenant_id int, p_unit_id bigint, p_actor text default null) returns json
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_actor constant text := stepwell._actor_bound(p_tenant_id, coalesce(p_actor, stepwell._caller_name()), 'read');
    v_person_id constant bigint := (select p.person_id from stepwell.person as p
        where p.tenant_id = p_tenant_id and p.name_key = stepwell._actor_plain(v_actor) and p.is_active);
    v_unit stepwell.work_unit;
begin
    perform stepwell._unit_shown_check(p_tenant_id, p_unit_id);
    select u.* into v_unit from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    if not found then
        raise exception using errcode = 'SW002', column = 'unit', message = format('%s does not exist', stepwell._unit_ref(p_unit_id));
    end if;
    return (
        select coalesce(json_agg(json_build_object(
            'action', a.action,
            'label', json_build_object('en', stepwell._text_fill('action.' || a.action, 'en', '{}'),
                'vi', stepwell._text_fill('action.' || a.action, 'vi', '{}')),
            'path', replace(replace(a.call_path, '{unit}', p_unit_id::text), '{run}', stepwell._run_of(p_unit_id)::text),
            'needs', a.needed_fields,
            'allowed', r.reason is null,
            'reason', r.reason,
            'approval', case when a.approval_action is not null and stepwell._approval_waiver(a.approval_action) is null then
                json_build_object('action', a.approval_action, 'granted', g.approval_id::text, 'open', o.approval_id::text) end) order by a.ordinal), '[]')
        from stepwell.unit_action as a
        cross join lateral stepwell._approval_usable(v_unit, a.approval_action) as g (approval_id)
        cross join lateral (select max(d.approval_id) as approval_id
            from stepwell.approval_detail as d
            where d.tenant_id = p_tenant_id and d.subject_unit_id = p_unit_id and d.action = a.approval_action and d.decided_at is null) as o
        cross join lateral stepwell._action_refusal(v_unit, a, v_actor, v_person_id, g.approval_id) as r (reason)
        where a.scope = v_unit.scope);
end
$$;

-- The granted approval that this action on this unit may use: the newest one that has not been used for it.
create or replace function stepwell._approval_usable(p_unit stepwell.work_unit, p_action text) returns bigint
language sql stable
set search_path = stepwell, pg_temp
as $$
    select max(d.approval_id)
    from stepwell.approval_detail as d
    where d.tenant_id = p_unit.tenant_id and d.action = p_action
        and d.subject_unit_id in (p_unit.unit_id, stepwell._run_unit(stepwell._run_of(p_unit.unit_id)))
        and stepwell._approval_granted(d.tenant_id, d.approval_id, p_action, p_unit.unit_id)
        and not exists (select from stepwell.step_run_correction_cycle as c
            where c.tenant_id = d.tenant_id and c.unit_id = p_unit.unit_id and c.approval_id = d.approval_id)
$$;

-- Why this actor may not do this with the unit now: kind, code and the sentence in two languages; null when nothing is against
-- it. Kinds: rights (the verb, or no person), state (of the unit or its run), person (who may is another), approval (one is
-- required).
create or replace function stepwell._action_refusal(
    p_unit stepwell.work_unit, p_action stepwell.unit_action, p_actor text, p_person_id bigint, p_approval_id bigint
) returns json
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_problems text[];
    v_state text;
    v_message text;
begin
    if coalesce(current_setting('stepwell.binding', true), '') <> '' and not stepwell._verb_allowed(p_action.verb) then
        return stepwell._action_reason(p_unit, null, 'rights', array['verb_missing:' || p_action.verb], p_actor, p_person_id);
    end if;
    if p_person_id is null and (p_action.is_for_people or p_action.actor_guard is not null) then
        return stepwell._action_reason(p_unit, null, 'rights', array['actor_is_no_person'], p_actor, p_person_id);
    end if;
    begin
        v_problems := stepwell._action_problems(p_unit, p_action, p_person_id, p_approval_id);
        if v_problems = '{}' then
            perform stepwell._action_check(p_unit, p_action, p_person_id, p_approval_id);
            return null;
        end if;
    exception
        when sqlstate 'SW003' or sqlstate 'SW004' or sqlstate 'SW007' then
            get stacked diagnostics v_state = returned_sqlstate, v_message = message_text;
            return json_build_object('kind', case v_state when 'SW007' then 'person' when 'SW004' then 'approval' else 'state' end,
                'code', case v_state when 'SW007' then 'not_for_you' when 'SW004' then 'approval_required' else 'not_now' end,
                'en', v_message, 'vi', null);
    end;
    return stepwell._action_reason(p_unit, p_action.to_state, case
        when v_problems[1] like 'transition\_refused\_by\_guard:actor\_%' then 'person'
        when v_problems[1] in ('transition_refused_by_guard:cancel_authorised', 'transition_refused_by_guard:reopen_approved') then 'approval'
        else 'state' end, v_problems, p_actor, p_person_id);
end
$$;

-- What the registry and the guard of who acts have against the call, as codes of refusals. Guards that what the call carries
-- decides are left out, and so is the payload of its event.
create or replace function stepwell._action_problems(
    p_unit stepwell.work_unit, p_action stepwell.unit_action, p_person_id bigint, p_approval_id bigint
) returns text[]
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_unit stepwell.work_unit := p_unit;
    v_action stepwell.unit_action := p_action;
    v_rule stepwell.transition_rule;
    v_problems text[] := '{}'::text[];
begin
    -- Two calls make another change from some states.
    if v_action.action = 'escalate' and v_unit.state_code = 'failed' then
        v_action.actor_guard := 'actor_oversees';
        v_action.to_state := 'cannot_complete';
        v_action.actor_class := 'escalation_handler';
        v_action.trigger_kind := 'rpc';
        v_action.trigger_ref := 'escalate';
    elsif v_action.action = 'retry' and v_unit.scope <> 'workflow_run' and v_unit.state_code = 'failed' then
        v_action.to_state := 'ready';
        v_action.actor_class := 'reviewer';
        v_action.trigger_kind := 'rpc';
        v_action.trigger_ref := 'step_retry';
    elsif v_action.action = 'claim' then
        -- Who claims it is in charge before its state changes.
        v_unit.pic_id := p_person_id;
    end if;
    if v_action.to_state is not null then
        v_action.actor_class := case when v_unit.scope = 'task' and v_action.actor_class = 'pic_human' then 'task_pic_human'
            else v_action.actor_class end;
        select r.* into v_rule from stepwell.transition_rule as r
        where r.state_machine_id = v_unit.state_machine_id and r.from_state = v_unit.state_code and r.to_state = v_action.to_state
            and r.actor_class = v_action.actor_class and not r.leases_directly;
        v_problems := array(
            select p.problem
            from string_to_table(stepwell._transition_problems(v_unit, v_rule, null, v_action.to_state,
                jsonb_strip_nulls(jsonb_build_object('audit_ref', 'preview', 'actor_id', p_person_id, 'approval_id', p_approval_id)),
                null, null, null, v_action.actor_class, false, v_action.trigger_kind, v_action.trigger_ref, null, stepwell.now(), true),
                chr(31)) as p (problem)
            where p.problem not like 'event\_payload\_invalid:%'
                and not split_part(p.problem, ':', 2) = any (v_action.given_guards));
    end if;
    if v_problems = '{}' and v_action.actor_guard is not null
        and not stepwell._guard_named(v_action.actor_guard, p_unit, jsonb_build_object('actor_id', p_person_id), stepwell.now()) then
        v_problems := array['transition_refused_by_guard:' || v_action.actor_guard];
    end if;
    if v_problems = '{}' and v_action.action = 'complete' and exists (select from stepwell.task_detail as t
        inner join stepwell.work_unit as u on t.tenant_id = u.tenant_id and t.unit_id = u.unit_id
        where v_unit.scope = 'step' and t.tenant_id = v_unit.tenant_id and t.step_run_id = v_unit.unit_id
            and u.state_code not in ('completed', 'skipped')) then
        v_problems := array['transition_refused_by_guard:output_contract_met'];
    end if;
    return v_problems;
end
$$;

-- The checks of the calls themselves, each the one that the call makes.
-- Raises: SW003, SW004 and SW007 as the call does.
create or replace function stepwell._action_check(
    p_unit stepwell.work_unit, p_action stepwell.unit_action, p_person_id bigint, p_approval_id bigint
) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_dead_ids bigint[];
begin
    if p_action.is_for_people then
        perform stepwell._step_people_check(p_unit);
    end if;
    if p_action.verb = 'step.work' and p_action.action not in ('release', 'comment', 'escalate') then
        perform stepwell._hold_refuse(p_unit.tenant_id, p_unit.unit_id, case when p_action.to_state is not null then
            (select p.name_key from stepwell.person as p where p.tenant_id = p_unit.tenant_id and p.person_id = p_person_id) end);
    end if;
    case p_action.action
        when 'claim' then
            perform stepwell._claim_check(p_unit, p_person_id);
        when 'assign', 'delegate' then
            perform stepwell._assign_check(p_unit);
        when 'deadline' then
            perform stepwell._deadline_change_check(p_unit);
        when 'escalate' then
            if p_unit.state_code <> 'failed' then
                perform stepwell._escalation_next(p_unit);
            end if;
        when 'escalate_block' then
            perform stepwell._block_escalate_check(p_unit, p_approval_id);
        when 'reopen' then
            perform stepwell._correction_check(p_unit.tenant_id, p_unit.unit_id, p_approval_id, 'leave');
        when 'signal' then
            perform stepwell._signal_check(p_unit);
        when 'cancel' then
            perform stepwell._unit_cancel_check(p_unit);
        when 'retry' then
            if p_unit.scope = 'workflow_run' then
                v_dead_ids := stepwell._run_dead_steps(p_unit.tenant_id, stepwell._run_of(p_unit.unit_id));
            else
                perform stepwell._unit_retry_check(p_unit);
                v_dead_ids := case when p_unit.state_code = 'cannot_complete' then stepwell._replay_set(p_unit.tenant_id, p_unit.unit_id) end;
            end if;
            perform stepwell._replay_check(p_unit.tenant_id, v_dead_ids);
        else null;
    end case;
end
$$;

-- A reason in two languages.
create or replace function stepwell._action_reason(
    p_unit stepwell.work_unit, p_to_state text, p_kind text, p_problems text[], p_actor text, p_person_id bigint
) returns json
language sql stable
set search_path = stepwell, pg_temp
as $$
    select json_build_object('kind', p_kind,
        'code', regexp_replace(regexp_replace(p_problems[1], '^transition_refused_by_guard:', ''), ':.*$', ''),
        'en', stepwell._refusal_sentence(p_unit, p_to_state, p_problems, e.evidence, 'en'),
        'vi', stepwell._refusal_sentence(p_unit, p_to_state, p_problems, e.evidence, 'vi'))
    from (select jsonb_build_object('actor', p_actor, 'actor_id', p_person_id)) as e (evidence)
$$;
