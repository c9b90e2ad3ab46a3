-- Purpose: what an evidence bundle says of the questions put to reviewers about a run, and who decided what.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._evidence_approvals(p_tenant_id int, p_run_id bigint) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce(jsonb_agg(to_jsonb(x) order by x.approval_id), '[]') from (
        select a.approval_id, u.state_code, a.action, a.subject_unit_id, a.tier, a.quorum, a.requested_by, a.acting,
            a.approvers, a.approver_role, a.reason, a.requested_at, a.expires_at, a.decided_at, a.decided_by, (
                select coalesce(jsonb_agg(jsonb_build_object('voter', v.voter, 'decision', v.decision, 'reason', v.reason,
                    'voted_at', v.voted_at) order by v.voted_at, v.voter), '[]')
                from stepwell.approval_vote as v
                where v.tenant_id = a.tenant_id and v.approval_id = a.approval_id
            ) as votes
        from stepwell.approval_detail as a
        inner join stepwell.work_unit as u on a.tenant_id = u.tenant_id and a.approval_id = u.unit_id
        where a.tenant_id = p_tenant_id
            and a.subject_unit_id between p_run_id << 20 and ((p_run_id + 1) << 20) - 1
    ) as x
$$;
