-- Purpose: a run that has ended goes on (W7) because a step of it is opened again.
-- Locks: the caller holds the run.
-- Idempotency: a run that has not ended is passed over; it is marked for another look in any case.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._correction_run_open(
    p_tenant_id int, p_run_id bigint, p_actor text, p_reason text, p_approval_id bigint
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    update stepwell.run_progress as p set needs_attention = true where p.tenant_id = p_tenant_id and p.run_id = p_run_id;
    if stepwell._run_state(p_tenant_id, p_run_id) in ('completed', 'failed') then
        perform stepwell._must_apply(array[p_tenant_id], array[p_run_id << 20], 'in_progress', 'reviewer', 'rpc',
            'workflow_reopen', p_actor,
            array[jsonb_build_object('audit_ref', 'approval:' || p_approval_id, 'approval_id', p_approval_id)],
            array[jsonb_strip_nulls(jsonb_build_object('reason', p_reason, 'approval_id', p_approval_id))]);
        update stepwell.run_detail as r set finished_state = null, finished_at = null
        where r.tenant_id = p_tenant_id and r.run_id = p_run_id;
    end if;
end
$$;
