-- Purpose: the person in charge ends a step or task with its output (T8, or T7 when it is overdue). The form, the
--   postcondition and the tasks inside are checked by the door: no client can go round them.
-- Locks: the run.
-- Idempotency: by key.
-- Raises: SW002 when step or person do not exist; SW004 when the registry refuses, naming the field; SW006 when the output
--   is too large.
create or replace function stepwell.fn_step_complete(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_output jsonb default '{}', p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_answer jsonb := stepwell._step_enter(p_tenant_id, p_unit_id, 'step_complete', p_key);
begin
    if v_answer is not null then
        return v_answer;
    end if;
    if octet_length(p_output::text) > stepwell._limit('limits.payload_bytes') then
        raise exception using errcode = 'SW006', column = 'output',
            message = format('output: at most %s bytes are accepted', stepwell._limit('limits.payload_bytes'));
    end if;
    perform stepwell._step_pic_check(p_tenant_id, p_unit_id, p_actor);
    v_answer := stepwell._step_move(p_tenant_id, p_unit_id, 'completed', 'pic_human', 'rpc', 'step_complete', p_actor,
        jsonb_build_object('output', coalesce(p_output, '{}')));
    return stepwell._step_leave(p_tenant_id, p_unit_id, 'step_complete', p_key, v_answer);
end
$$;
