-- Purpose: opens an ended step again for correction, with an approval and a reason from the vocabulary. How it had ended
--   stays: audit row, output snapshot, completion time. What has ended around it opens with it: maps, sub-workflow steps,
--   runs, up to the outermost. What completed after any of these is left, or opened too and waits. Steps called off wait again.
-- Locks: the runs above, then the run.
-- Idempotency: by key; an approval opens a step once.
-- Raises: SW001 for an unknown choice; SW002 when there is no such step; SW003 when it cannot be opened; SW004 when the
--   registry refuses, the guards reopen_approved and actor_oversees included; SW007 for another tenant.
create or replace function stepwell.fn_step_reopen_for_correction(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_reason text, p_approval_id bigint, p_downstream text default 'leave',
    p_person text default null, p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_around constant bigint[] := array(select a.unit_id from stepwell._correction_around(p_tenant_id, p_unit_id) as a);
    v_answer jsonb;
    v_person_id bigint;
    v_root stepwell.step_run_correction_cycle;
    v_step record;
    v_touched jsonb := '[]';
    v_failed_ids bigint[];
    v_open_ids bigint[] := array[p_unit_id];
begin
    perform stepwell._tenant_bound(p_tenant_id);
    v_answer := stepwell._step_answer(p_tenant_id, p_unit_id, 'step_reopen_for_correction', p_key);
    if v_answer is not null then
        return v_answer;
    end if;
    perform stepwell._step_actor_check(p_tenant_id, p_unit_id, p_actor, 'actor_oversees');
    v_person_id := case when p_person is not null then stepwell._person_find(p_tenant_id, p_person) end;
    perform stepwell._correction_check(p_tenant_id, p_unit_id, p_approval_id, p_downstream);
    -- Asked before anything changes: what is around it would no longer look ended.
    v_failed_ids := array(select u.unit_id from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id = any (v_around || p_unit_id) and u.scope = 'step'
            and u.state_code = 'cannot_complete');
    for v_step in
        select d.*, p_downstream = 'reopen' and d.can_reopen or d.relation = 'around' as opens
        from stepwell.fn_step_correction_preview(p_tenant_id, p_unit_id) as d
    loop
        v_touched := v_touched || (to_jsonb(v_step) - 'opens' || jsonb_build_object('reopened', v_step.opens));
    end loop;
    perform stepwell._correction_run_open(p_tenant_id, a.unit_id >> 20, p_actor, p_reason, p_approval_id)
    from unnest(v_around) as a (unit_id) where a.unit_id & 1048575 = 0;
    v_root := stepwell._correction_open(p_tenant_id, p_unit_id, p_unit_id, p_actor, p_reason, p_approval_id, p_downstream,
        '{}', v_person_id);
    -- From the inside out: a map counts what opens inside it before it opens itself, so that it does not end at once.
    for v_step in
        select t.step_run_id, t.waits_for
        from jsonb_to_recordset(v_touched) as t (step_run_id bigint, relation text, waits_for bigint[], reopened boolean)
        where t.reopened
        order by t.relation desc, array_position(v_around, t.step_run_id), t.step_run_id
    loop
        perform stepwell._correction_open(p_tenant_id, v_step.step_run_id, p_unit_id, p_actor, p_reason, p_approval_id,
            p_downstream, v_step.waits_for, null);
        v_open_ids := v_open_ids || v_step.step_run_id;
    end loop;
    perform stepwell._correction_rest(p_tenant_id, v_failed_ids, v_open_ids, p_actor, jsonb_build_object(
        'audit_ref', 'approval:' || p_approval_id, 'approval_id', p_approval_id, 'prior_audit_id', v_root.prior_audit_id,
        'correction_reason', p_reason));
    perform stepwell._approvals_outlived(p_tenant_id, a.unit_id >> 20),
        stepwell._rollups_lend(array[p_tenant_id], array[a.unit_id >> 20])
    from unnest(v_around) as a (unit_id) where a.unit_id & 1048575 = 0;
    return stepwell._step_leave(p_tenant_id, p_unit_id, 'step_reopen_for_correction', p_key, jsonb_build_object(
        'ok', true, 'cycle_no', v_root.cycle_no, 'prior_audit_id', v_root.prior_audit_id,
        'original_output_snapshot_id', v_root.snapshot_id, 'approval_id', p_approval_id, 'downstream', v_touched));
end
$$;
