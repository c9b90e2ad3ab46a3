-- Purpose: the person in charge hands a step or task over to another candidate without letting go of its state.
-- Locks: the run.
-- Idempotency: by key.
-- Raises: SW002 when step or person do not exist; SW004 naming the guard actor_is_pic; SW007 when the other is no candidate.
create or replace function stepwell.fn_step_delegate(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_person text, p_reason text default null, p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_answer jsonb := stepwell._step_enter(p_tenant_id, p_unit_id, 'step_delegate', p_key);
begin
    if v_answer is not null then
        return v_answer;
    end if;
    perform stepwell._step_pic_check(p_tenant_id, p_unit_id, p_actor);
    perform stepwell.fn_step_assign(p_tenant_id, p_unit_id, p_person, p_actor, p_reason);
    return stepwell._step_leave(p_tenant_id, p_unit_id, 'step_delegate', p_key, '{"ok": true}');
end
$$;
