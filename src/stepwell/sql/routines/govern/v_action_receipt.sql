-- Receipts: what was attempted, what happened, how it is undone, who asked, what judged it, what it cost.
create or replace view stepwell.v_action_receipt with (security_invoker = true) as
select
    r.tenant_id,
    r.receipt_id,
    u.state_code,
    r.run_id,
    r.unit_id as step_run_id,
    r.step_id,
    r.idempotency_key,
    r.connector,
    r.operation,
    r.target,
    r.action_hash,
    r.writes,
    r.reversible,
    r.try_count,
    r.request_metadata,
    r.response_metadata,
    r.external_id,
    r.prior,
    r.reversal,
    r.provider,
    r.model,
    r.input_tokens,
    r.output_tokens,
    r.cost_micros,
    r.currency,
    p.version_no as policy_version,
    d.rule_name,
    d.reason as policy_reason,
    r.approval_id,
    r.requested_by,
    r.acting,
    r.reverses_receipt_id,
    r.reversed_by_receipt_id,
    r.intended_at,
    r.settled_at,
    r.settled_by
from stepwell.action_receipt as r
inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.receipt_id = u.unit_id
left join stepwell.policy_decision as d
    on r.tenant_id = d.tenant_id and r.unit_id = d.unit_id and r.decision_id = d.decision_id
left join stepwell.policy_set as p on d.tenant_id = p.tenant_id and d.policy_set_id = p.policy_set_id;
