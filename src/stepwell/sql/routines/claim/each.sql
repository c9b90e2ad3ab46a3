-- A claim in which one unit makes the whole fail is done again unit by unit: the unit at fault is set aside.

-- Leases up to n units to the session, as fn_job_claim, each on its own. A unit that cannot be leased is taken out of the
-- queue, with a problem that has the reason, and comes back at the time of the problem. A worker calls this after fn_job_claim
-- has failed.
-- Locks: as _ready_take and _claim.
-- Idempotency: none; as fn_job_claim.
-- Raises: SW005 when the session has ended; what is not the fault of a row.
create or replace function stepwell.fn_job_claim_each(p_session_key bigint, p_limit int)
returns setof stepwell.job_lease
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_session constant record := stepwell._session_of(p_session_key);
    v_unit record;
    v_code text;
    v_reason text;
begin
    for v_no in 1 .. least(p_limit, 50) loop
        select t.tenant_ids[1] as tenant_id, t.unit_ids[1] as unit_id, t.retry_ids is not null as is_retry into v_unit
        from stepwell._ready_take(v_session.executor_class_ids, v_session.handler_ids, 1) as t;
        exit when v_unit.unit_id is null;
        begin
            perform stepwell._must_apply(
                array[row(v_unit.tenant_id, v_unit.unit_id, 'in_progress', null, null, null, null, null)::stepwell.transition_request],
                row('executor_worker', case when v_unit.is_retry then 'event' else 'rpc' end,
                    case when v_unit.is_retry then 'retry_attempt' else 'step_claim' end, null, v_session.session_id, v_session.now, null,
                    0, null)::stepwell.transition_cause);
            if v_unit.is_retry then
                perform stepwell._subrun_states_show(array[v_unit.tenant_id], array[stepwell._run_of(v_unit.unit_id)]);
            end if;
            perform stepwell._tenant_leases_note(array[v_unit.tenant_id], array[v_unit.unit_id]);
            return query
            select c.* from stepwell._claim(v_session.session_id, v_session.executor_class_ids, v_session.is_idle, 1, v_session.now,
                v_unit.tenant_id, array[v_unit.unit_id], true, v_session.handler_ids) as c;
        exception when others then
            get stacked diagnostics v_code = returned_sqlstate, v_reason = message_text;
            if not stepwell._is_fault_of_row(v_code) then
                raise;
            end if;
            perform stepwell._unit_set_aside(v_unit.tenant_id, v_unit.unit_id, 'claim', v_code, v_reason);
        end;
    end loop;
end
$$;
