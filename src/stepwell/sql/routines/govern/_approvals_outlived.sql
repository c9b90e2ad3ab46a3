-- Purpose: open questions about a run and its steps to which nobody needs an answer any more are cancelled by the system (A4):
--   what they were about has ended; or, asked of something that had ended, it was called off or opened in another way.
-- Locks: the caller holds the run; the approvals in id order.
-- Idempotency: yes.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._approvals_outlived(p_tenant_id int, p_run_id bigint) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_gone record;
begin
    select array_agg(a.tenant_id) as tenant_ids, array_agg(a.approval_id order by a.approval_id) as approval_ids,
        array_agg('{"reason": "subject_ended"}'::jsonb) as payloads
    into v_gone
    from stepwell.approval_detail as a
    inner join stepwell.work_unit as r on r.tenant_id = a.tenant_id and r.unit_id = p_run_id << 20
    inner join stepwell.work_unit as s on a.tenant_id = s.tenant_id and a.subject_unit_id = s.unit_id
    where a.tenant_id = p_tenant_id and a.decided_at is null and a.action <> 'act'
        and a.subject_unit_id between p_run_id << 20 and ((p_run_id + 1) << 20) - 1
        and case a.action
            when 'block_escalate' then s.state_code <> 'blocked'
            -- A run that had failed before may still be called off.
            when 'workflow_cancel' then r.state_code in ('completed', 'cancelled')
                or (r.state_code = 'failed' and r.last_transition_at > a.requested_at)
            when 'reopen' then r.state_code = 'cancelled'
                or (s.scope = 'step' and s.state_code not in ('completed', 'cannot_complete'))
            when 'replay' then exists (select from stepwell.dlq_replay_request as q
                inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
                where q.tenant_id = a.tenant_id and q.approval_id = a.approval_id and u.state_code <> 'cannot_complete')
            else s.state_code in ('completed', 'skipped', 'cancelled', 'cannot_complete', 'failed')
                and (s.state_code <> 'failed' or s.scope = 'workflow_run')
                and s.last_transition_at > a.requested_at end;
    if v_gone.approval_ids is not null then
        perform stepwell._must_apply(v_gone.tenant_ids, v_gone.approval_ids, 'cancelled', 'system', 'condition_resolved',
            'subject_ended', 'engine', null, v_gone.payloads);
        perform stepwell._approvals_close(v_gone.tenant_ids, v_gone.approval_ids, 'engine');
    end if;
end
$$;
