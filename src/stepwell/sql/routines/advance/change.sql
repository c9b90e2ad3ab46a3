-- One state change from outside: it is checked, applied, and followed by everything that it means for the graph.

-- The public entry for one state change: checks it against the registry and, unless it is a preview, applies it with
-- its event and everything that follows from it (the graph advances, queues and timers change).
-- Locks: the run, or the unit itself when it is free-standing; then the unit.
-- Idempotency: with evidence.idempotency_key the first verdict is returned again; no second event.
-- Raises: SW001 when an argument is missing or unknown; a refusal is a verdict, not an error; SW007 for another tenant.
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
    v_key constant text := p_evidence ->> 'idempotency_key';
    v_requests constant stepwell.transition_request[] := array[row(p_tenant_id, p_run_id, p_to_state, p_from_state, p_evidence,
        p_evidence -> 'payload', null, null)::stepwell.transition_request];
    v_cause constant stepwell.transition_cause := row(p_actor_class, p_trigger_kind, p_trigger_ref, p_evidence ->> 'actor', null, null,
        null, 0, null)::stepwell.transition_cause;
    v_verdict jsonb;
    v_unit record;
    v_applied_count int := 0;
begin
    perform stepwell._tenant_bound(p_tenant_id);
    if p_run_id is null or p_to_state is null or p_actor_class is null then
        raise exception using errcode = 'SW001',
            message = format('%s: a value is required', case when p_run_id is null then 'run_id'
                when p_to_state is null then 'to_state' else 'actor_class' end);
    end if;
    if not p_preview then
        perform stepwell._runs_and_jobs_lock(array[p_tenant_id], array[p_run_id]);
        if v_key is not null then
            select i.verdict into v_verdict
            from stepwell.transition_idempotency as i
            where i.tenant_id = p_tenant_id and i.unit_id = p_run_id
                and i.to_state = p_to_state and i.idempotency_key = v_key;
            if found then
                return v_verdict;
            end if;
        end if;
    end if;
    select u.scope, u.state_machine_id, u.state_code into v_unit
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = p_run_id;
    if v_unit.scope is distinct from p_run_kind then
        return jsonb_build_object('ok', false, 'transition_id', null, 'emitted_event_type', null, 'problems',
            jsonb_build_array(case when v_unit.scope is null then 'unit_not_found' else 'run_kind_is_' || v_unit.scope end));
    end if;
    if not p_preview then
        v_applied_count := (stepwell._transition_apply(v_requests, v_cause)).applied_count;
    end if;
    if v_applied_count = 1 then
        select jsonb_build_object('ok', true, 'transition_id', r.transition_id, 'emitted_event_type', r.event_type,
            'problems', '[]'::jsonb)
        into v_verdict
        from stepwell.transition_rule as r
        where r.state_machine_id = v_unit.state_machine_id and r.from_state = v_unit.state_code and r.to_state = p_to_state
            and r.actor_class = p_actor_class and not r.leases_directly;
    else
        select jsonb_build_object('ok', j.problems = '{}', 'transition_id', j.transition_id,
            'emitted_event_type', j.event_type, 'problems', to_jsonb(j.problems))
        into v_verdict
        from stepwell._transition_judge(v_requests, v_cause) as j;
        if not p_preview and (v_verdict ->> 'ok')::boolean then
            raise exception using errcode = '40001', message = format('%s was changed by another transaction; try again',
                stepwell._title_of(p_tenant_id, p_run_id));
        end if;
    end if;
    if not p_preview then
        if (v_verdict ->> 'ok')::boolean then
            perform stepwell._after_transition(p_tenant_id, p_run_id, p_evidence);
        end if;
        if v_key is not null then
            insert into stepwell.transition_idempotency (
                tenant_id, unit_id, to_state, idempotency_key, verdict, decided_at)
            values (p_tenant_id, p_run_id, p_to_state, v_key, v_verdict, stepwell.now());
        end if;
    end if;
    return v_verdict;
end
$$;

-- What follows from one state change: a step that ended releases its dependents or cancels them, a step that became
-- ready is put in line for its slot, a unit that is not ready any more leaves the queue, a run that has nothing open
-- ends.
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
    if v_unit.state_code <> 'ready' then
        perform stepwell._units_dequeue(array[p_tenant_id], array[p_unit_id]);
    end if;
    if v_unit.scope not in ('step', 'task', 'job') then
        return;
    end if;
    if v_unit.lease_session_id is null then
        perform stepwell._receipts_doubt(array[p_tenant_id], array[p_unit_id], 'the step or job was changed meanwhile');
    end if;
    if v_unit.state_code = 'completed' and p_evidence ? 'output' then
        insert into stepwell.unit_output (tenant_id, unit_id, lease_no, output, created_at)
        values (p_tenant_id, p_unit_id, v_unit.lease_no, p_evidence -> 'output', stepwell.now())
        on conflict (tenant_id, unit_id, lease_no) do nothing;
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
