-- Purpose: puts a person in charge of an open step or task; whoever was in charge is no longer.
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
    if v_answer is not null then
        return v_answer;
    end if;
    select u.* into v_unit from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    if v_unit.state_code not in ('ready', 'in_progress', 'waiting', 'blocked', 'overdue') then
        raise exception using errcode = 'SW003',
            message = format('step %s is %s; only an open step can be assigned', p_unit_id, v_unit.state_code);
    end if;
    -- Whoever may take a step that nobody has may also be put in charge of it by his own word.
    if p_actor is distinct from p_person or coalesce(v_unit.pic_id, v_person_id) <> v_person_id then
        perform stepwell._step_actor_check(p_tenant_id, p_unit_id, p_actor, 'actor_is_responsible');
    end if;
    perform stepwell._step_candidate_check(v_unit, v_person_id);
    perform stepwell._pic_change(p_tenant_id, p_unit_id, v_person_id, p_actor, p_reason);
    return stepwell._step_leave(p_tenant_id, p_unit_id, 'step_assign', p_key, '{"ok": true}');
end
$$;
