-- Purpose: what every call on a person's work begins with: the run is locked, a repeated call gets its first answer, and
--   what a worker carries out is not for people.
-- Locks: the run.
-- Idempotency: as _step_answer.
-- Raises: SW001 for a key that is too long; SW002 when there is no such step; SW003 when a worker carries it out.
create or replace function stepwell._step_enter(p_tenant_id int, p_unit_id bigint, p_call text, p_key text)
returns jsonb
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_answer constant jsonb := stepwell._step_answer(p_tenant_id, p_unit_id, p_call, p_key);
    v_unit stepwell.work_unit;
begin
    select u.* into v_unit from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    if v_answer is null and v_unit.pic_id is null and not exists (select from stepwell._step_asks(v_unit) as a
        where a.step_kind = 'human' or (a.step_kind = 'task' and v_unit.class_id is null)) then
        raise exception using errcode = 'SW003', message = format('step %s is not carried out by people', p_unit_id);
    end if;
    return v_answer;
end
$$;
