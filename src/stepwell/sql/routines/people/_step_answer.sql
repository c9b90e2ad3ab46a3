-- Purpose: locks the run of a step or task and gives the first answer again when the same call came before with the same key.
-- Locks: the run, after those above it.
-- Idempotency: answers of earlier calls are kept in transition_idempotency under the name of the call.
-- Raises: SW001 for a key that is too long; SW002 when there is no such step; SW007 for another tenant.
create or replace function stepwell._step_answer(p_tenant_id int, p_unit_id bigint, p_call text, p_key text)
returns jsonb
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._tenant_bound(p_tenant_id);
    if octet_length(p_key) not between 1 and stepwell._limit('limits.idempotency_key_bytes') then
        raise exception using errcode = 'SW001', column = 'key',
            message = format('key: 1 to %s bytes are accepted', stepwell._limit('limits.idempotency_key_bytes'));
    end if;
    perform stepwell._runs_lock_up(array[p_tenant_id], array[p_unit_id]);
    if not exists (select from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id and u.scope in ('step', 'task')) then
        raise exception using errcode = 'SW002', message = format('step %s does not exist', p_unit_id);
    end if;
    return (
        select i.verdict from stepwell.transition_idempotency as i
        where i.tenant_id = p_tenant_id and i.unit_id = p_unit_id and i.to_state = 'rpc:' || p_call
            and i.idempotency_key = p_key);
end
$$;
