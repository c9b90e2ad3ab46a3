-- A unit whose report the database refuses, and whose failure too: it is set aside, so that no worker keeps it for ever.

-- Sets aside a unit whose report cannot be accepted: the lease ends, a problem has the reason, and the unit becomes ready again
-- at the time of the problem. When even that is refused, the lease stays and only the problem is opened. Returns whether
-- the lease has ended.
-- Locks: the run and the runs above, or the job; then the unit.
-- Idempotency: only while the session has the lease.
-- Raises: SW007 for another tenant and for the generator; what is not the fault of a row.
create or replace function stepwell.fn_job_report_set_aside(
    p_session_key bigint, p_tenant_id int, p_unit_id bigint, p_lease_no int, p_error_code text, p_reason text
) returns boolean
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_session_id constant bigint := stepwell._session_id_of(p_session_key);
    v_has_ended boolean := false;
begin
    if coalesce(current_setting('stepwell.binding', true), '') <> '' then
        perform stepwell._executes_check();
    end if;
    p_reason := stepwell._redact_text(p_reason);
    perform stepwell._tenant_bound(p_tenant_id);
    perform stepwell._runs_lock_up(array[p_tenant_id], array[p_unit_id]);
    perform stepwell._runs_and_jobs_lock(array[p_tenant_id], array[p_unit_id]);
    if not exists (select from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id and u.lease_no = p_lease_no
            and u.lease_session_id = v_session_id and u.state_code in ('in_progress', 'overdue')) then
        return false;
    end if;
    begin
        perform stepwell._slots_free(array[p_tenant_id], array[p_unit_id]);
        perform stepwell._receipts_doubt(array[p_tenant_id], array[p_unit_id], 'the report of the attempt was refused');
        perform stepwell._units_move(array[p_tenant_id], array[p_unit_id], 'ready', 'executor_worker', 'rpc', 'step_release',
            p_session_id => v_session_id);
        -- The change of state has put it into the queue.
        perform stepwell._units_dequeue(array[p_tenant_id], array[p_unit_id]);
        v_has_ended := true;
    exception when others then
        if not stepwell._is_fault_of_row(sqlstate) then
            raise;
        end if;
    end;
    perform stepwell._unit_set_aside(p_tenant_id, p_unit_id, 'report', p_error_code, p_reason);
    return v_has_ended;
end
$$;
