-- Purpose: may this step be opened again? It has ended, is a person's or an operation's, nothing around it was called off or
--   replaced, and this very approval was granted for it. Hands on the state it ended in.
-- Locks: the caller holds the run and those above it.
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
    v_lost record;
begin
    if p_downstream is null or p_downstream not in ('leave', 'reopen') then
        raise exception using errcode = 'SW001', column = 'downstream', message = 'downstream: leave or reopen is accepted';
    end if;
    select u.state_code, u.parent_id, u.item_no, d.step_kind into v_step
    from stepwell.work_unit as u
    inner join stepwell.workflow_step_def as d
        on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id and u.scope = 'step';
    if v_step.state_code is null or v_step.step_kind not in ('human', 'operation') then
        raise exception using errcode = 'SW003',
            message = format('step %s cannot be opened again: only human and operation steps can', p_unit_id);
    end if;
    if v_step.state_code not in ('completed', 'cannot_complete') then
        raise exception using errcode = 'SW003',
            message = format('step %s is %s; only an ended step can be opened again', p_unit_id, v_step.state_code);
    end if;
    if v_step.item_no is not null and v_step.parent_id is null then
        raise exception using errcode = 'SW003',
            message = format('step %s belongs to an item that its map has made anew since', p_unit_id);
    end if;
    select a.unit_id, a.scope, a.state_code, (select max(n.unit_id) >> 20 from stepwell.work_unit as n
        inner join stepwell.work_unit as w on w.tenant_id = n.tenant_id and w.unit_id = a.unit_id
        where n.tenant_id = p_tenant_id and n.parent_id = w.parent_id and n.scope = 'workflow_run') as latest_run_id
    into v_lost
    from stepwell._correction_around(p_tenant_id, p_unit_id) as a
    where a.state_code not in ('in_progress', 'overdue', 'waiting', 'paused', 'completed', 'cannot_complete', 'failed')
        or (a.scope = 'workflow_run' and exists (select from stepwell.work_unit as n
            inner join stepwell.work_unit as w on w.tenant_id = n.tenant_id and w.unit_id = a.unit_id
            where n.tenant_id = p_tenant_id and n.parent_id = w.parent_id and n.scope = 'workflow_run'
                and n.unit_id > a.unit_id))
    order by a.place limit 1;
    if found then
        raise exception using errcode = 'SW003', message = case
            when v_lost.scope = 'workflow_run' and v_lost.state_code = 'cancelled'
                then format('run %s is cancelled and cannot go on', v_lost.unit_id >> 20)
            when v_lost.scope = 'workflow_run'
                then format('run %s was replaced by run %s', v_lost.unit_id >> 20, v_lost.latest_run_id)
            else format('step %s around it is %s and cannot go on', v_lost.unit_id, v_lost.state_code) end;
    end if;
    if not stepwell._approval_granted(p_tenant_id, p_approval_id, 'reopen', p_unit_id) then
        raise exception using errcode = 'SW004', message = format(
            'transition_refused_by_guard:reopen_approved: step %s needs a granted approval of the action reopen', p_unit_id);
    end if;
    return v_step.state_code;
end
$$;
