-- Purpose: opens one ended step again (T8r, T12r) after its record is written. The root of a correction goes on: a person's
--   with a fresh deadline, a worker's back in the queue unless a person is named; what depends on it waits for it; a map
--   or sub-workflow around it is under way again.
-- Locks: the caller holds the run.
-- Idempotency: none; an approval opens a step once.
-- Raises: SW003 when the approval has opened this step before; SW004 when the registry refuses.
create or replace function stepwell._correction_open(
    p_tenant_id int, p_unit_id bigint, p_root_unit_id bigint, p_actor text, p_reason text, p_approval_id bigint,
    p_downstream text, p_waits_for bigint[], p_person_id bigint
) returns stepwell.step_run_correction_cycle
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_cycle stepwell.step_run_correction_cycle;
    v_unit stepwell.work_unit;
    v_evidence jsonb;
begin
    v_cycle := stepwell._correction_record(p_tenant_id, p_unit_id, p_root_unit_id, p_actor, p_reason, p_approval_id,
        p_downstream, p_waits_for);
    v_evidence := jsonb_strip_nulls(jsonb_build_object('audit_ref', 'approval:' || p_approval_id, 'approval_id', p_approval_id,
        'prior_audit_id', v_cycle.prior_audit_id, 'correction_reason', p_reason,
        'original_output_snapshot_id', v_cycle.snapshot_id));
    perform stepwell._step_move(p_tenant_id, p_unit_id, 'in_progress', 'reviewer', 'rpc', 'step_reopen_for_correction', p_actor,
        v_evidence, v_evidence - 'audit_ref');
    if p_person_id is not null then
        perform stepwell._pic_change(p_tenant_id, p_unit_id, p_person_id, p_actor, p_reason);
    end if;
    update stepwell.work_unit as u set attempt_count = 0,
        deadline_at = coalesce(stepwell._deadline_of(u.tenant_id, d.config, stepwell.now()), u.deadline_at)
    from stepwell.workflow_step_def as d
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id
        and d.tenant_id = u.tenant_id and d.version_id = u.version_id and d.step_no = u.def_no
    returning u.* into v_unit;
    update stepwell.job_dead_letter as l set resolved_at = stepwell.now(), resolution = 'reopened'
    where l.tenant_id = p_tenant_id and l.unit_id = p_unit_id and l.resolved_at is null;
    if cardinality(p_waits_for) > 0 then
        perform stepwell._must_apply(array[p_tenant_id], array[p_unit_id], 'waiting', 'mow_orchestrator', 'condition_resolved',
            null, 'engine', array['{"waiting_facet": "waiting_dependency"}'::jsonb],
            array['{"waiting_facet": "waiting_dependency"}'::jsonb]);
    elsif p_unit_id = p_root_unit_id and v_unit.class_id is not null and v_unit.pic_id is null then
        perform stepwell._must_apply(array[p_tenant_id], array[p_unit_id], 'ready', 'executor_worker', 'rpc', 'step_release',
            p_actor, array[v_evidence]);
        perform stepwell._slots_take(array[p_tenant_id], array[p_unit_id]);
        perform stepwell._workers_wake(array[v_unit.class_id]);
    end if;
    perform stepwell._people_timers(p_tenant_id, array[p_unit_id]);
    return v_cycle;
end
$$;
