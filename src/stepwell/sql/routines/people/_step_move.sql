-- Purpose: one state change of a person's work through the door, with its evidence; a refusal becomes an error that names
--   the guard and, where an output broke its contract, the field.
-- Locks: the caller holds the run.
-- Idempotency: none here; callers keep their answers.
-- Raises: SW004 when the registry refuses.
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
    v_problem text;
begin
    select u.* into v_unit from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    v_verdict := stepwell.fn_state_transition_validate(
        p_unit_id, v_unit.scope, v_unit.state_code, p_to_state,
        case when v_unit.scope = 'task' and p_actor_class = 'pic_human' then 'task_pic_human' else p_actor_class end,
        p_trigger_kind, p_trigger_ref,
        jsonb_build_object('audit_ref', 'person:' || p_actor, 'actor', p_actor) || p_evidence
            || case when p_payload is null then '{}' else jsonb_build_object('payload', p_payload) end,
        false, p_tenant_id);
    if not (v_verdict ->> 'ok')::boolean then
        if v_verdict -> 'problems' @> '["transition_refused_by_guard:output_contract_met"]' then
            v_problem := ': ' || stepwell._output_contract_problem(v_unit, p_evidence -> 'output');
        end if;
        raise exception using errcode = 'SW004', message = format('step %s cannot become %s: %s%s', p_unit_id, p_to_state,
            (select string_agg(p.problem, ', ') from jsonb_array_elements_text(v_verdict -> 'problems') as p (problem)),
            v_problem);
    end if;
    return v_verdict;
end
$$;
