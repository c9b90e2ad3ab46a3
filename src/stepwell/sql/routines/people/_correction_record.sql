-- Purpose: writes down how a step had ended before it is opened again: the audit of the ending, a snapshot of its output,
--   and the cycle that refers to both.
-- Locks: the caller holds the run.
-- Idempotency: none; an approval opens a step once.
-- Raises: SW003 when the approval has opened this step before.
create or replace function stepwell._correction_record(
    p_tenant_id int, p_unit_id bigint, p_root_unit_id bigint, p_actor text, p_reason text, p_approval_id bigint,
    p_downstream text, p_waits_for bigint[]
) returns stepwell.step_run_correction_cycle
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_end record;
    v_output record;
    v_cycle stepwell.step_run_correction_cycle;
begin
    if p_unit_id = p_root_unit_id and exists (select from stepwell.step_run_correction_cycle as c
        where c.tenant_id = p_tenant_id and c.unit_id = p_unit_id and c.root_unit_id = p_unit_id
            and c.approval_id = p_approval_id) then
        raise exception using errcode = 'SW003',
            message = format('approval %s has opened step %s before', p_approval_id, p_unit_id);
    end if;
    select e.event_id, e.at, e.to_state, e.actor, e.actor_class, e.audit_ref into v_end
    from stepwell.event_log as e
    where e.tenant_id = p_tenant_id and e.stream_id = p_unit_id >> 20 and e.unit_id = p_unit_id and e.to_state is not null
    order by e.event_id desc limit 1;
    select o.lease_no, o.output into v_output
    from stepwell.unit_output as o
    where o.tenant_id = p_tenant_id and o.unit_id = p_unit_id
    order by o.lease_no desc limit 1;
    insert into stepwell.step_run_prior_audit (
        tenant_id, unit_id, closing_state, closed_at, closed_by, actor_class, audit_ref, event_id, output, written_at)
    values (p_tenant_id, p_unit_id, v_end.to_state, v_end.at, v_end.actor, v_end.actor_class, v_end.audit_ref,
        v_end.event_id, v_output.output, v_now)
    returning prior_audit_id into v_cycle.prior_audit_id;
    if v_output.output is not null then
        insert into stepwell.step_run_output_snapshot (tenant_id, unit_id, lease_no, output, taken_at)
        values (p_tenant_id, p_unit_id, v_output.lease_no, v_output.output, v_now)
        returning snapshot_id into v_cycle.snapshot_id;
    end if;
    insert into stepwell.step_run_correction_cycle (
        tenant_id, unit_id, cycle_no, root_unit_id, approval_id, correction_reason, prior_audit_id, snapshot_id,
        downstream_choice, waits_for, reopened_by, reopened_at)
    select p_tenant_id, p_unit_id, 1 + count(*), p_root_unit_id, p_approval_id, coalesce(p_reason, ''), v_cycle.prior_audit_id,
        v_cycle.snapshot_id, p_downstream, coalesce(p_waits_for, '{}'), p_actor, v_now
    from stepwell.step_run_correction_cycle as c
    where c.tenant_id = p_tenant_id and c.unit_id = p_unit_id
    returning * into v_cycle;
    return v_cycle;
end
$$;
