-- Purpose: what every call on a person's work ends with: the answer, kept under the key of the call.
-- Locks: the caller holds the run.
-- Idempotency: the first answer stays.
-- Raises: nothing.
create or replace function stepwell._step_leave(
    p_tenant_id int, p_unit_id bigint, p_call text, p_key text, p_answer jsonb
) returns jsonb
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_answer jsonb;
begin
    select p_answer || jsonb_build_object('step_run_id', u.unit_id, 'run_id', u.unit_id >> 20, 'state', u.state_code,
        'step_id', (select a.name || coalesce('[' || u.item_no || ']', '') from stepwell._step_asks(u) as a))
    into v_answer
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    if p_key is not null then
        insert into stepwell.transition_idempotency (tenant_id, unit_id, to_state, idempotency_key, verdict, decided_at)
        values (p_tenant_id, p_unit_id, 'rpc:' || p_call, p_key, v_answer, stepwell.now())
        on conflict do nothing;
    end if;
    return v_answer;
end
$$;
