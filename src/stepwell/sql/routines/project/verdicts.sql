-- What policies said to actions, each with the version of the rules that said it.

-- Every verdict, with the run and the unit of its action.
create or replace view stepwell.v_policy_verdict with (security_invoker = true) as
select
    d.tenant_id,
    d.verdict_id,
    d.unit_id >> 20 as run_id,
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
left join stepwell.policy_set as s on d.tenant_id = s.tenant_id and d.policy_set_id = s.policy_set_id;
