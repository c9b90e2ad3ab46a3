-- Questions put to reviewers: what about, who asked, how many must agree, who has decided, until when.
create or replace view stepwell.v_approval with (security_invoker = true) as
select
    a.tenant_id,
    a.approval_id,
    u.state_code,
    a.action,
    a.subject_unit_id,
    a.subject_unit_id >> 20 as run_id,
    a.tier,
    a.quorum,
    (select count(*) from stepwell.approval_vote as v
        where v.tenant_id = a.tenant_id and v.approval_id = a.approval_id and v.decision = 'approve') as approve_count,
    (select jsonb_agg(jsonb_build_object('voter', v.voter, 'decision', v.decision, 'reason', v.reason, 'voted_at', v.voted_at)
            order by v.voted_at, v.voter) from stepwell.approval_vote as v
        where v.tenant_id = a.tenant_id and v.approval_id = a.approval_id) as votes,
    a.requested_by,
    a.reason,
    a.requested_at,
    a.expires_at,
    a.decided_at,
    a.decided_by,
    a.acting,
    a.approvers,
    a.approver_role,
    a.about
from stepwell.approval_detail as a
inner join stepwell.work_unit as u on a.tenant_id = u.tenant_id and a.approval_id = u.unit_id;
