-- Rule sets, each with where its proposal stands and whether it judges now.
create or replace view stepwell.v_policy with (security_invoker = true) as
select
    s.tenant_id,
    s.version_no,
    case when a.policy_set_id is not null then 'active' when u.state_code = 'merged' then 'replaced' else u.state_code end
        as state_code,
    s.rules,
    s.rules_hash,
    s.diff,
    b.version_no as base_version_no,
    s.proposal_id,
    s.approval_id,
    s.proposed_by,
    s.proposed_at,
    s.reason,
    a.activated_at,
    a.activated_by,
    s.source
from stepwell.policy_set as s
inner join stepwell.work_unit as u on s.tenant_id = u.tenant_id and s.proposal_id = u.unit_id
left join stepwell.policy_active as a on s.tenant_id = a.tenant_id and s.policy_set_id = a.policy_set_id
left join stepwell.policy_set as b on s.tenant_id = b.tenant_id and s.base_policy_set_id = b.policy_set_id;
