-- Purpose: what a step or task waited for has come (T3r): work goes on. The reference says what shows it.
-- Locks: the run.
-- Idempotency: by key.
-- Raises: SW002 when step or person do not exist; SW004 when the registry refuses, facet_resolution_proof and
--   actor_takes_part included.
create or replace function stepwell.fn_step_resume(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_resolution_ref text, p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_answer jsonb := stepwell._step_enter(p_tenant_id, p_unit_id, 'step_resume', p_key);
begin
    if v_answer is null then
        perform stepwell._step_actor_check(p_tenant_id, p_unit_id, p_actor, 'actor_takes_part');
        v_answer := stepwell._step_move(p_tenant_id, p_unit_id, 'in_progress', 'system', 'event', 'facet_resolved', p_actor,
            jsonb_strip_nulls(jsonb_build_object('resolution_ref', p_resolution_ref)));
        v_answer := stepwell._step_leave(p_tenant_id, p_unit_id, 'step_resume', p_key, v_answer);
    end if;
    return v_answer;
end
$$;
