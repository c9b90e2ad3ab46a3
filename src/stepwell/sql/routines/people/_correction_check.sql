-- Purpose: may this step be opened again? It has ended, is a person's or an operation's, lies in a run that can go on, and
--   this very approval was granted for it. Hands on the state it ended in.
-- Locks: the caller holds the run.
-- Idempotency: reads only.
-- Raises: SW001 for an unknown choice; SW003 when it cannot be opened; SW004 when the approval is missing.
create or replace function stepwell._correction_check(
    p_tenant_id int, p_unit_id bigint, p_approval_id bigint, p_downstream text
) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_step record;
begin
    if p_downstream is null or p_downstream not in ('leave', 'reopen') then
        raise exception using errcode = 'SW001', column = 'downstream', message = 'downstream: leave or reopen is accepted';
    end if;
    select u.state_code, u.parent_id, d.step_kind, w.state_code as run_state, r.parent_unit_id into v_step
    from stepwell.work_unit as u
    inner join stepwell.workflow_step_def as d
        on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    inner join stepwell.work_unit as w on u.tenant_id = w.tenant_id and w.unit_id = (u.unit_id >> 20) << 20
    inner join stepwell.run_detail as r on u.tenant_id = r.tenant_id and u.unit_id >> 20 = r.run_id
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id and u.scope = 'step';
    if v_step.state_code is null or v_step.step_kind not in ('human', 'operation') or v_step.parent_id is not null then
        raise exception using errcode = 'SW003',
            message = format('step %s cannot be opened again: only human and operation steps outside maps can', p_unit_id);
    end if;
    if v_step.state_code not in ('completed', 'cannot_complete') then
        raise exception using errcode = 'SW003',
            message = format('step %s is %s; only an ended step can be opened again', p_unit_id, v_step.state_code);
    end if;
    if v_step.run_state = 'cancelled' or (v_step.run_state in ('completed', 'failed') and v_step.parent_unit_id is not null) then
        raise exception using errcode = 'SW003', message = format('run %s is %s and cannot go on', p_unit_id >> 20,
            case v_step.run_state when 'cancelled' then 'cancelled' else 'part of another run, which knows its end' end);
    end if;
    if not stepwell._approval_granted(p_tenant_id, p_approval_id, 'reopen', p_unit_id) then
        raise exception using errcode = 'SW004', message = format(
            'transition_refused_by_guard:reopen_approved: step %s needs a granted approval of the action reopen', p_unit_id);
    end if;
    return v_step.state_code;
end
$$;
