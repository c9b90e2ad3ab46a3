-- Purpose: looks again at what depends on the other steps of a run: approvals nobody needs any more, corrections that move
--   on, blocks that change their severity, decisions that wait for what is behind a cancelled step. Takes the mark off a
--   run that has nothing of the kind left.
-- Locks: the caller holds the run.
-- Idempotency: yes.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._attention_settle(p_tenant_id int, p_run_id bigint) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_has_held_decision boolean;
begin
    perform stepwell._approvals_outlived(p_tenant_id, p_run_id);
    perform stepwell._corrections_settle(p_tenant_id, p_run_id);
    perform stepwell._blocks_weigh(p_tenant_id, p_run_id);
    v_has_held_decision := stepwell._decisions_resume(p_tenant_id, p_run_id);
    update stepwell.run_progress as p set needs_attention = false
    where p.tenant_id = p_tenant_id and p.run_id = p_run_id and p.needs_attention and not v_has_held_decision
        and not exists (
        select from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id between (p_run_id << 20) + 1 and ((p_run_id + 1) << 20) - 1
            and u.state_code = 'blocked')
        and not exists (
        select from stepwell.step_run_correction_cycle as c
        where c.tenant_id = p_tenant_id and c.unit_id between (p_run_id << 20) + 1 and ((p_run_id + 1) << 20) - 1
            and c.closed_at is null)
        and not exists (
        select from stepwell.approval_detail as a
        where a.tenant_id = p_tenant_id and a.subject_unit_id between p_run_id << 20 and ((p_run_id + 1) << 20) - 1
            and a.decided_at is null);
end
$$;
