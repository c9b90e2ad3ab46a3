-- Purpose: what every call on a person's work begins with: locks the run, finds the unit, and gives the first answer
--   again when the same call came before with the same key.
-- Locks: the run.
-- Idempotency: answers of earlier calls are kept in transition_idempotency under the name of the call.
-- Raises: SW001 for a key that is too long; SW002 when there is no such step; SW003 when a worker carries it out.
create or replace function stepwell._step_enter(p_tenant_id int, p_unit_id bigint, p_call text, p_key text)
returns jsonb
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_unit stepwell.work_unit;
    v_answer jsonb;
begin
    if octet_length(p_key) not between 1 and stepwell._limit('limits.idempotency_key_bytes') then
        raise exception using errcode = 'SW001', column = 'key',
            message = format('key: 1 to %s bytes are accepted', stepwell._limit('limits.idempotency_key_bytes'));
    end if;
    perform stepwell._stream_lock(array[p_tenant_id], array[p_unit_id]);
    select u.* into v_unit from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id and u.scope in ('step', 'task');
    if not found then
        raise exception using errcode = 'SW002', message = format('step %s does not exist', p_unit_id);
    end if;
    if p_key is not null then
        select i.verdict into v_answer
        from stepwell.transition_idempotency as i
        where i.tenant_id = p_tenant_id and i.unit_id = p_unit_id and i.to_state = 'rpc:' || p_call
            and i.idempotency_key = p_key;
    end if;
    if v_answer is null and v_unit.pic_id is null and not exists (
        select from stepwell._step_asks(v_unit) as a where a.step_kind = 'human' or (a.step_kind = 'task' and v_unit.class_id is null)) then
        raise exception using errcode = 'SW003', message = format('step %s is not carried out by people', p_unit_id);
    end if;
    return v_answer;
end
$$;
