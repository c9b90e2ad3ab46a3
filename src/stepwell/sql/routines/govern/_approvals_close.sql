-- Purpose: notes who ended approvals and takes their timers away; a replay that waited for one that was not granted is off.
-- Locks: the caller holds the approvals.
-- Idempotency: the first note stays.
-- Raises: nothing.
create or replace function stepwell._approvals_close(p_tenant_ids int[], p_approval_ids bigint[], p_actor text) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    update stepwell.approval_detail as a set decided_at = stepwell.now(), decided_by = p_actor
    from unnest(p_tenant_ids, p_approval_ids) as q (tenant_id, approval_id)
    where a.tenant_id = q.tenant_id and a.approval_id = q.approval_id and a.decided_at is null;
    delete from stepwell.timer as t
    using unnest(p_tenant_ids, p_approval_ids) as q (tenant_id, approval_id)
    where t.tenant_id = q.tenant_id and t.unit_id = q.approval_id;
    update stepwell.dlq_replay_request as r set proposal_state = 'rejected', outcome_at = stepwell.now()
    from unnest(p_tenant_ids, p_approval_ids) as q (tenant_id, approval_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.approval_id = u.unit_id
    where r.tenant_id = q.tenant_id and r.approval_id = q.approval_id and r.proposal_state = 'submitted'
        and u.state_code <> 'approved';
end
$$;
