-- Purpose: what an evidence bundle says of the verdicts of policy on the actions of a run.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._evidence_decisions(p_tenant_id int, p_run_id bigint) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce(jsonb_agg(to_jsonb(x) order by x.decision_id), '[]') from (
        select d.decision_id, d.unit_id, d.lease_no as attempt, d.connector, d.operation, d.target, d.idempotency_key,
            d.action_hash, d.effect, d.reason_code, d.reason, p.version_no as policy_version, p.rules_hash, d.rule_name,
            d.tier, d.two_person, d.approval_id, d.decided_at
        from stepwell.policy_decision as d
        left join stepwell.policy_set as p on d.tenant_id = p.tenant_id and d.policy_set_id = p.policy_set_id
        where d.tenant_id = p_tenant_id and d.unit_id between p_run_id << 20 and ((p_run_id + 1) << 20) - 1
    ) as x
$$;
