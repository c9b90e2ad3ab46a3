-- Purpose: opens an ended step again for correction, with an approval and a reason from the vocabulary. How it had ended
--   stays: audit row, output snapshot, completion time. What completed after it is left, or opened too and waits for it.
--   An ended run goes on; steps called off because of it wait again.
-- Locks: the run.
-- Idempotency: by key; an approval opens a step once.
-- Raises: SW001 for an unknown choice; SW002 when there is no such step; SW003 when it cannot be opened; SW004 when the
--   registry refuses, the guard reopen_approved included.
create or replace function stepwell.fn_step_reopen_for_correction(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_reason text, p_approval_id bigint, p_downstream text default 'leave',
    p_person text default null, p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_answer jsonb := stepwell._step_answer(p_tenant_id, p_unit_id, 'step_reopen_for_correction', p_key);
    v_person_id constant bigint := case when p_person is not null then stepwell._person_find(p_tenant_id, p_person) end;
    v_cycle stepwell.step_run_correction_cycle;
    v_was text;
    v_next record;
    v_downstream jsonb := '[]';
    v_open_ids bigint[] := array[p_unit_id];
begin
    if v_answer is not null then
        return v_answer;
    end if;
    v_was := stepwell._correction_check(p_tenant_id, p_unit_id, p_approval_id, p_downstream);
    perform stepwell._correction_run_open(p_tenant_id, p_unit_id >> 20, p_actor, p_reason, p_approval_id);
    v_cycle := stepwell._correction_open(p_tenant_id, p_unit_id, p_unit_id, p_actor, p_reason, p_approval_id, p_downstream,
        '{}', v_person_id);
    for v_next in select d.* from stepwell.fn_step_correction_preview(p_tenant_id, p_unit_id) as d loop
        v_downstream := v_downstream || jsonb_build_object('step_run_id', v_next.step_run_id, 'step_id', v_next.step_id,
            'reopened', p_downstream = 'reopen' and v_next.can_reopen);
        if p_downstream = 'reopen' and v_next.can_reopen then
            perform stepwell._correction_open(p_tenant_id, v_next.step_run_id, p_unit_id, p_actor, p_reason, p_approval_id,
                p_downstream, v_next.waits_for, null);
            v_open_ids := v_open_ids || v_next.step_run_id;
        end if;
    end loop;
    if v_was = 'cannot_complete' then
        perform stepwell._dependents_reinstate(p_tenant_id, array[p_unit_id], p_actor, jsonb_build_object(
            'audit_ref', 'approval:' || p_approval_id, 'approval_id', p_approval_id, 'prior_audit_id', v_cycle.prior_audit_id,
            'correction_reason', p_reason));
    end if;
    -- Steps that have not begun wait for the reopened ones again.
    perform stepwell._pending_recount(p_tenant_id, array_agg(s.unit_id))
    from stepwell.work_unit as u
    inner join stepwell.workflow_step_relations as r
        on u.tenant_id = r.tenant_id and u.version_id = r.version_id and u.def_no = r.from_no
    inner join stepwell.work_unit as s on s.tenant_id = u.tenant_id and s.unit_id = u.unit_id + r.to_no - u.def_no
    where u.tenant_id = p_tenant_id and u.unit_id = any (v_open_ids) and s.state_code = 'not_started';
    return stepwell._step_leave(p_tenant_id, p_unit_id, 'step_reopen_for_correction', p_key, jsonb_build_object(
        'ok', true, 'cycle_no', v_cycle.cycle_no, 'prior_audit_id', v_cycle.prior_audit_id,
        'original_output_snapshot_id', v_cycle.snapshot_id, 'approval_id', p_approval_id, 'downstream', v_downstream));
end
$$;
