-- What policies said to actions, each with the version of the rules that said it.

-- Every verdict, with the unit of its action, and its run if it belongs to one.
create or replace view stepwell.v_policy_verdict with (security_invoker = true) as
select
    d.tenant_id,
    d.verdict_id,
    case when u.scope <> 'job' then stepwell._run_of(u.unit_id) end as run_id,
    d.unit_id,
    d.connector,
    d.operation,
    d.target,
    d.effect,
    d.reason_code,
    d.reason,
    d.rule_name,
    s.version_no,
    d.approval_id,
    d.idempotency_key,
    d.decided_at
from stepwell.policy_verdict as d
left join stepwell.work_unit as u on d.tenant_id = u.tenant_id and d.unit_id = u.unit_id
left join stepwell.policy_set as s on d.tenant_id = s.tenant_id and d.policy_set_id = s.policy_set_id;
