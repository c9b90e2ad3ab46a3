-- The person in charge works: completes, cannot complete, waits, continues.

-- The person in charge completes a step or task with its output (T8, or T7 when it is overdue). The form, the
-- postcondition and the tasks inside are checked here, so no client can avoid them.
-- Locks: the run.
-- Idempotency: by key.
-- Raises: SW002 when step or person do not exist; SW004 when the registry refuses, naming the field; SW006 when the
--   output is too large.
create or replace function stepwell.fn_step_complete(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_output jsonb default '{}', p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_answer jsonb := stepwell._step_enter(p_tenant_id, p_unit_id, 'step_complete', p_key);
begin
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'step.work');
    if v_answer is not null then
        return v_answer;
    end if;
    perform stepwell._values_check('output', 'output', array[p_output], 'limits.payload_bytes');
    perform stepwell._step_pic_check(p_tenant_id, p_unit_id, p_actor);
    v_answer := stepwell._step_move(p_tenant_id, p_unit_id, 'completed', 'pic_human', 'rpc', 'step_complete', p_actor,
        jsonb_build_object('output', coalesce(p_output, '{}')));
    return stepwell._step_leave(p_tenant_id, p_unit_id, 'step_complete', p_key, v_answer);
end
$$;

-- The person in charge declares that a step or task cannot be completed (T12), with a reference to the declaration.
-- Locks: the run.
-- Idempotency: by key.
-- Raises: SW002 when step or person do not exist; SW004 when the registry refuses, also by the guard
--   declaration_evidence.
create or replace function stepwell.fn_step_cannot_complete(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_evidence_ref text, p_reason text default null, p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_answer jsonb := stepwell._step_enter(p_tenant_id, p_unit_id, 'declare_cannot_complete', p_key);
begin
    p_evidence_ref := stepwell._redact_text(p_evidence_ref);
    p_reason := stepwell._redact_text(p_reason);
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'step.work');
    if v_answer is not null then
        return v_answer;
    end if;
    perform stepwell._step_pic_check(p_tenant_id, p_unit_id, p_actor);
    v_answer := stepwell._step_move(p_tenant_id, p_unit_id, 'cannot_complete', 'pic_human', 'rpc', 'declare_cannot_complete',
        p_actor, jsonb_strip_nulls(jsonb_build_object('declaration_ref', p_evidence_ref)),
        jsonb_strip_nulls(jsonb_build_object('reason', p_reason, 'evidence_ref', p_evidence_ref)));
    return stepwell._step_leave(p_tenant_id, p_unit_id, 'declare_cannot_complete', p_key, v_answer);
end
$$;

-- The person in charge waits (T3) for one or several things: the facet with the lowest ordinal is the primary one, the
-- others are stored with it. An event of the run, or a time, ends the wait.
-- Locks: the run.
-- Idempotency: by key.
-- Raises: SW001 for no facet or a time in the past; SW002 when step or person do not exist; SW004 when the registry
--   refuses.
create or replace function stepwell.fn_step_wait(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_facets text[], p_event_type text default null,
    p_resume_at timestamptz default null, p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_answer jsonb := stepwell._step_enter(p_tenant_id, p_unit_id, 'step_wait', p_key);
begin
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'step.work');
    if v_answer is not null then
        return v_answer;
    end if;
    perform stepwell._step_pic_check(p_tenant_id, p_unit_id, p_actor);
    if coalesce(cardinality(p_facets), 0) not between 1 and 10 then
        raise exception using errcode = 'SW001', column = 'facets', message = 'facets: 1 to 10 facets of waiting are accepted';
    end if;
    perform stepwell._secret_refuse('event_type', p_event_type);
    if p_resume_at <= stepwell.now() then
        raise exception using errcode = 'SW001', column = 'resume_at', message = 'resume_at: a time in the future is required';
    end if;
    v_answer := stepwell._step_move(p_tenant_id, p_unit_id, 'waiting', 'pic_human', 'rpc', 'step_wait', p_actor, '{}',
        jsonb_strip_nulls(jsonb_build_object('waiting_facets', p_facets, 'event_type', p_event_type, 'resume_at', p_resume_at)));
    if p_resume_at is not null then
        insert into stepwell.timer (tenant_id, unit_id, timer_kind, due_at)
        values (p_tenant_id, p_unit_id, 'sleep', p_resume_at)
        on conflict (tenant_id, unit_id, timer_kind) do update set due_at = excluded.due_at;
    end if;
    if p_event_type is not null then
        insert into stepwell.event_wait (tenant_id, unit_id, run_id, event_type, since_at)
        values (p_tenant_id, p_unit_id, stepwell._run_of(p_unit_id), p_event_type, stepwell.now());
        perform stepwell._waits_match(p_tenant_id, stepwell._run_of(p_unit_id), p_event_type);
    end if;
    return stepwell._step_leave(p_tenant_id, p_unit_id, 'step_wait', p_key, v_answer);
end
$$;

-- What a step or task waited for has come (T3r): the work continues. The reference names the proof.
-- Locks: the run.
-- Idempotency: by key.
-- Raises: SW002 when step or person do not exist; SW004 when the registry refuses, also by the guards
--   facet_resolution_proof and actor_takes_part.
create or replace function stepwell.fn_step_resume(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_resolution_ref text, p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    return stepwell._step_continue(p_tenant_id, p_unit_id, p_actor, p_resolution_ref, p_key, 'step_resume', 'system', 'facet_resolved');
end
$$;
