-- One state change from outside: it is checked, applied, and followed by everything that it means for the graph.

-- The public entry for one state change: checks it against the registry and, unless it is a preview, applies it with
-- its event and everything that follows from it (the graph advances, queues and timers change). A run, an approval, a
-- proposal or a receipt is only checked here: its own functions change it, because more rows belong to its change; the same
-- holds for a correction, and for a step that has ended. Who acts comes from the binding: a person acts as the person in
-- charge of a step, or with the right to look after the work of others; the classes of the engine and of workers belong to
-- them alone.
-- Locks: the run, or the unit itself when it is free-standing; then the unit.
-- Idempotency: with evidence.idempotency_key the first verdict of this transition is returned again; no second event. Which
--   transition that is follows from the state it begins in, so a key needs from_state.
-- Raises: SW001 when an argument is missing or unknown; a refusal is a verdict, not an error; SW003 when a hold stops the unit or
--   the person: then it can only be released, retried and cancelled; SW007 when the caller may not act as this class, or for
--   another tenant.
create or replace function stepwell.fn_state_transition_validate(
    p_run_id bigint,
    p_run_kind text,
    p_from_state text,
    p_to_state text,
    p_actor_class text,
    p_trigger_kind text,
    p_trigger_ref text,
    p_evidence jsonb default '{}',
    p_preview boolean default false,
    p_tenant_id int default 1
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_in_charge constant boolean := p_actor_class in ('pic_human', 'task_pic_human');
    v_actor text;
    v_verdict jsonb;
begin
    v_actor := stepwell._actor_bound(p_tenant_id, p_evidence ->> 'actor', case when v_in_charge then 'step.work' else 'step.oversee' end);
    perform stepwell._unit_shown_check(p_tenant_id, p_run_id);
    -- The calls that make the same change ask for these, too.
    if p_actor_class = 'reviewer' and p_to_state in ('ready', 'cancelled') then
        perform stepwell._verb_check(p_tenant_id, case p_to_state when 'ready' then 'run.retry' else 'run.cancel' end);
    elsif (v_in_charge or p_actor_class in ('reviewer', 'escalation_handler')) and p_to_state <> 'ready' then
        perform stepwell._hold_refuse(p_tenant_id, p_run_id, v_actor);
    end if;
    if coalesce(current_setting('stepwell.binding', true), '') <> '' then
        if not (v_in_charge or p_actor_class in ('reviewer', 'escalation_handler')) then
            raise exception using errcode = 'SW007', column = 'actor_class', message = format(
                'actor_class: %s acts as pic_human, task_pic_human, reviewer or escalation_handler, not as %s', v_actor, p_actor_class);
        end if;
        if v_in_charge and not exists (select from stepwell.work_unit as u where u.tenant_id = p_tenant_id
            and u.unit_id = p_run_id and u.pic_id = stepwell.bound_principal()) then
            raise exception using errcode = 'SW007', message = format('%s is not in charge of %s', v_actor,
                stepwell._title_of(p_tenant_id, p_run_id));
        end if;
        p_evidence := p_evidence || jsonb_build_object('actor', v_actor, 'actor_id', stepwell.bound_principal(),
            'audit_ref', 'principal:' || stepwell.bound_principal());
    end if;
    -- More than the state belongs to a correction: its record, the snapshot, what is around and after the step.
    if p_trigger_ref = 'step_reopen_for_correction' and not p_preview then
        v_verdict := stepwell._state_change(p_run_id, p_run_kind, p_from_state, p_to_state, p_actor_class, p_trigger_kind,
            p_trigger_ref, p_evidence, true, p_tenant_id);
        return v_verdict || jsonb_build_object('ok', false,
            'problems', v_verdict -> 'problems' || '["has_calls_of_its_own:fn_step_reopen_for_correction"]');
    end if;
    return stepwell._state_change(p_run_id, p_run_kind, p_from_state, p_to_state, p_actor_class, p_trigger_kind, p_trigger_ref,
        p_evidence, p_preview, p_tenant_id);
end
$$;

-- One state change, after its caller has checked who acts.
-- Locks: as fn_state_transition_validate.
-- Raises: SW001 when an argument is missing.
create or replace function stepwell._state_change(
    p_run_id bigint, p_run_kind text, p_from_state text, p_to_state text, p_actor_class text, p_trigger_kind text,
    p_trigger_ref text, p_evidence jsonb, p_preview boolean, p_tenant_id int
) returns jsonb
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_key constant text := p_evidence ->> 'idempotency_key';
    v_transition_id text;
    v_requests stepwell.transition_request[];
    v_cause constant stepwell.transition_cause := row(p_actor_class, p_trigger_kind, p_trigger_ref, p_evidence ->> 'actor', null, null,
        null, 0, null)::stepwell.transition_cause;
    v_verdict jsonb;
    v_unit stepwell.work_unit;
begin
    if p_run_id is null or p_to_state is null or p_actor_class is null then
        raise exception using errcode = 'SW001',
            message = format('%s: a value is required', case when p_run_id is null then 'run_id'
                when p_to_state is null then 'to_state' else 'actor_class' end);
    end if;
    if v_key is not null and p_from_state is null then
        raise exception using errcode = 'SW001', column = 'from_state',
            message = 'from_state: a value is required together with an idempotency_key';
    end if;
    if not p_preview then
        perform stepwell._runs_and_jobs_lock(array[p_tenant_id], array[p_run_id]);
    end if;
    select u.* into v_unit
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = p_run_id;
    if v_key is not null and not p_preview then
        v_transition_id := stepwell._transition_named(v_unit.state_machine_id, p_from_state, p_to_state, p_actor_class);
        select i.verdict into v_verdict
        from stepwell.transition_idempotency as i
        where i.tenant_id = p_tenant_id and i.unit_id = p_run_id
            and i.transition_id = v_transition_id and i.idempotency_key = v_key;
        if found then
            return v_verdict;
        end if;
    end if;
    if v_unit.scope is distinct from p_run_kind then
        return jsonb_build_object('ok', false, 'transition_id', null, 'emitted_event_type', null, 'problems',
            jsonb_build_array(case when v_unit.scope is null then 'unit_not_found' else 'run_kind_is_' || v_unit.scope end));
    end if;
    if p_to_state = 'waiting' then
        p_evidence := stepwell._facets_of(v_unit.state_machine_id, p_evidence);
    end if;
    v_requests := array[row(p_tenant_id, p_run_id, p_to_state, p_from_state, p_evidence, p_evidence -> 'payload', null, null)
        ::stepwell.transition_request];
    select jsonb_build_object('ok', j.problems = '{}', 'transition_id', j.transition_id,
        'emitted_event_type', j.event_type, 'problems', to_jsonb(j.problems))
    into v_verdict
    from stepwell._transition_judge(v_requests, v_cause) as j;
    if p_preview then
        return v_verdict;
    end if;
    if v_unit.scope not in ('step', 'task', 'job') then
        v_verdict := v_verdict || jsonb_build_object('ok', false, 'problems',
            v_verdict -> 'problems' || to_jsonb('has_calls_of_its_own:' || v_unit.scope));
    elsif (v_verdict ->> 'ok')::boolean and v_unit.scope = 'step' and stepwell._has_ended(v_unit.state_code)
        and p_trigger_ref is distinct from 'step_reopen_for_correction' then
        -- What depends on an ended step has ended with it, and maybe the run: a retry or a correction begins all of it again.
        v_verdict := v_verdict || jsonb_build_object('ok', false, 'problems', array['has_calls_of_its_own:ended_step']);
    elsif (v_verdict ->> 'ok')::boolean then
        perform stepwell._unit_change(v_unit, v_requests, v_cause);
    else
        -- The core stores a payload that it refuses.
        perform stepwell._transition_apply(v_requests, v_cause);
    end if;
    if v_key is not null then
        insert into stepwell.transition_idempotency (
            tenant_id, unit_id, transition_id, idempotency_key, verdict, decided_at)
        values (p_tenant_id, p_run_id, v_transition_id, v_key, v_verdict, stepwell.now());
    end if;
    return v_verdict;
end
$$;

-- The evidence of a change to waiting, with the primary facet of all that it names; the others are kept beside it. Evidence
-- that names none is left as it is.
create or replace function stepwell._facets_of(p_machine_id text, p_evidence jsonb) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_payload constant jsonb := coalesce(p_evidence -> 'payload', '{}');
    v_facets constant text[] := stepwell._facets_order(p_machine_id, array[p_evidence ->> 'waiting_facet', v_payload ->> 'waiting_facet']
        || case jsonb_typeof(v_payload -> 'waiting_facets') when 'array' then stepwell._texts_of(v_payload -> 'waiting_facets') end);
begin
    if v_facets is null then
        return p_evidence;
    end if;
    return p_evidence || jsonb_build_object('waiting_facet', v_facets[1], 'payload', v_payload - 'waiting_facets'
        || jsonb_build_object('waiting_facet', v_facets[1])
        || case when cardinality(v_facets) > 1 then jsonb_build_object('waiting_facets', v_facets) else '{}' end);
end
$$;

-- The id of a transition; where the registry has none, the edge that was asked for in its place.
create or replace function stepwell._transition_named(p_machine_id text, p_from_state text, p_to_state text, p_actor_class text)
returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce((select t.transition_id from stepwell.transition_rule as t
        where t.state_machine_id = p_machine_id and t.from_state = p_from_state and t.to_state = p_to_state
            and t.actor_class = p_actor_class and not t.leases_directly),
        format('%s->%s by %s', p_from_state, p_to_state, p_actor_class))
$$;

-- One accepted change of a step, task or job, and what belongs to it in the other tables. First the unit leaves
-- everything that could start it, as long as its old state tells what it has: its row in the queue, its slot, its
-- timers. A worker keeps the lease of a unit that becomes overdue or is in time again. Then the state changes. A
-- failure is stored and decides between a retry and the end, as the failure that a worker reports.
-- Locks: the caller holds the run or the job; the slots of the unit, its ready row, then the unit.
-- Raises: SW004 when the registry refuses something that follows; 40001 when a claim took the unit meanwhile.
create or replace function stepwell._unit_change(
    p_unit stepwell.work_unit, p_requests stepwell.transition_request[], p_cause stepwell.transition_cause
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_request constant stepwell.transition_request := p_requests[1];
    v_tenant_ids constant int[] := array[p_unit.tenant_id];
    v_unit_ids constant bigint[] := array[p_unit.unit_id];
    v_failed_at timestamptz;
begin
    if p_unit.lease_session_id is null or v_request.to_state not in ('overdue', 'in_progress') then
        perform stepwell._units_dequeue(v_tenant_ids, v_unit_ids);
    end if;
    if v_request.to_state = 'failed' then
        v_failed_at := stepwell._failures_store(v_tenant_ids, v_unit_ids, array[v_request.payload || jsonb_build_object(
            'outcome', case v_request.payload ->> 'classification' when 'permanent' then 'dead' else 'retry' end)]);
    end if;
    if (stepwell._transition_apply(p_requests, p_cause)).applied_count = 0 then
        raise exception using errcode = '40001', message = format('%s was changed by another transaction; try again',
            stepwell._title_of(p_unit.tenant_id, p_unit.unit_id));
    end if;
    if v_failed_at is not null then
        perform stepwell._failures_follow(v_tenant_ids, v_unit_ids, v_failed_at);
    elsif p_unit.state_code = 'failed' and v_request.to_state = 'cannot_complete' then
        perform stepwell._dead_letters_store(v_tenant_ids, v_unit_ids);
    end if;
    perform stepwell._after_transition(p_unit.tenant_id, p_unit.unit_id, v_request.evidence);
end
$$;

-- What follows from one state change: a step that ended releases its dependents or cancels them, a step that became
-- ready is put in line for its slot, a run that has nothing open ends.
-- Locks: the caller holds the run.
-- Raises: SW004 when the registry refuses something that follows.
create or replace function stepwell._after_transition(
    p_tenant_id int, p_unit_id bigint, p_evidence jsonb
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_unit stepwell.work_unit;
begin
    select u.* into v_unit from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    if v_unit.lease_session_id is null then
        perform stepwell._receipts_doubt(array[p_tenant_id], array[p_unit_id], 'the step or job was changed meanwhile');
    end if;
    if v_unit.state_code = 'completed' and p_evidence ? 'output' then
        insert into stepwell.unit_output (tenant_id, unit_id, lease_no, output, created_at)
        values (p_tenant_id, p_unit_id, v_unit.lease_no, p_evidence -> 'output', stepwell.now())
        on conflict (tenant_id, unit_id, lease_no) do nothing;
    elsif v_unit.state_code = 'completed' then
        perform stepwell._outputs_empty(array[p_tenant_id], array[p_unit_id]);
    end if;
    if v_unit.state_code = 'blocked' then
        update stepwell.run_progress as p set needs_attention = true, watches_steps = true
        where p.tenant_id = p_tenant_id and p.run_id = stepwell._run_of(p_unit_id);
    end if;
    if v_unit.scope = 'task' then
        if v_unit.state_code = 'blocked' then
            perform stepwell._blocks_weigh(p_tenant_id, stepwell._run_of(p_unit_id));
        end if;
        perform stepwell._people_timers(p_tenant_id, array[p_unit_id]);
        return;
    end if;
    if stepwell._has_ended(v_unit.state_code) then
        perform stepwell._tasks_cancel(array[p_tenant_id], array[p_unit_id]);
    end if;
    if v_unit.state_code in ('completed', 'skipped') then
        perform stepwell._advance(array[p_tenant_id], array[p_unit_id]);
    elsif v_unit.state_code in ('cannot_complete', 'cancelled') then
        perform stepwell._dependents_abort(array[p_tenant_id], array[p_unit_id]);
    elsif v_unit.state_code = 'ready' then
        perform stepwell._slots_take(array[p_tenant_id], array[p_unit_id]);
    end if;
    perform stepwell._runs_settle(array[p_tenant_id], array[p_unit_id]);
    if v_unit.scope = 'step' and not stepwell._has_ended(v_unit.state_code) then
        perform stepwell._people_timers(p_tenant_id, array[p_unit_id]);
    end if;
end
$$;
