-- Purpose: a person takes up a ready step or task (T2) and is in charge of it from now on.
-- Locks: the run.
-- Idempotency: by key; who holds it already gets the same answer again.
-- Raises: SW002 when step or person do not exist; SW003 when somebody else is in charge or the run is paused; SW004 when
--   the registry refuses; SW007 when the person is no candidate.
create or replace function stepwell.fn_step_claim(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_answer jsonb := stepwell._step_enter(p_tenant_id, p_unit_id, 'step_claim', p_key);
    v_person_id constant bigint := stepwell._person_find(p_tenant_id, p_actor);
    v_unit stepwell.work_unit;
    v_other text;
begin
    if v_answer is not null then
        return v_answer;
    end if;
    select u.* into v_unit from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    if v_unit.pic_id = v_person_id and v_unit.state_code in ('in_progress', 'overdue') then
        return stepwell._step_leave(p_tenant_id, p_unit_id, 'step_claim', p_key, '{"ok": true}');
    end if;
    if v_unit.pic_id <> v_person_id then
        select p.person_name into v_other from stepwell.person as p
        where p.tenant_id = p_tenant_id and p.person_id = v_unit.pic_id;
        raise exception using errcode = 'SW003',
            message = format('step %s is in the hands of %s', p_unit_id, v_other);
    end if;
    if stepwell._run_state(p_tenant_id, p_unit_id >> 20) = 'paused' then
        raise exception using errcode = 'SW003', message = format('run %s is paused', p_unit_id >> 20);
    end if;
    perform stepwell._step_candidate_check(v_unit, v_person_id);
    perform stepwell._pic_change(p_tenant_id, p_unit_id, v_person_id, p_actor, null);
    v_answer := stepwell._step_move(p_tenant_id, p_unit_id, 'in_progress', 'pic_human', 'rpc', 'step_claim', p_actor,
        jsonb_build_object('actor_id', v_person_id));
    perform stepwell._deadline_begin(p_tenant_id, p_unit_id);
    return stepwell._step_leave(p_tenant_id, p_unit_id, 'step_claim', p_key, v_answer);
end
$$;
