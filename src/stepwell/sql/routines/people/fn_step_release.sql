-- Purpose: the person in charge hands a step or task back (T2r); it is ready for any candidate again.
-- Locks: the run.
-- Idempotency: by key.
-- Raises: SW002 when step or person do not exist; SW004 when the registry refuses, the guard actor_is_pic included.
create or replace function stepwell.fn_step_release(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_reason text default null, p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_answer jsonb := stepwell._step_enter(p_tenant_id, p_unit_id, 'step_release', p_key);
begin
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
