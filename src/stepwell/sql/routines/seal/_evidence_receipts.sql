-- Purpose: what an evidence bundle says of the effects of a run in other systems; what they carried is metadata only.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._evidence_receipts(p_tenant_id int, p_run_id bigint) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce(jsonb_agg(to_jsonb(x) order by x.receipt_id), '[]') from (
        select a.receipt_id, u.state_code, a.unit_id, a.step_id, a.lease_no as attempt, a.try_count, a.idempotency_key,
            a.connector, a.operation, a.target, a.action_hash, a.writes, a.reversible, a.external_id, a.provider, a.model,
            a.input_tokens, a.output_tokens, a.cost_micros, a.currency, a.decision_id, a.approval_id, a.requested_by,
            a.acting, a.reverses_receipt_id, a.reversed_by_receipt_id, a.settled_by, a.intended_at, a.settled_at
        from stepwell.action_receipt as a
        inner join stepwell.work_unit as u on a.tenant_id = u.tenant_id and a.receipt_id = u.unit_id
        where a.tenant_id = p_tenant_id and a.run_id = p_run_id
    ) as x
$$;
