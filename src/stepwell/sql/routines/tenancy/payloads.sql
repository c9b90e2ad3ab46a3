-- Payloads beside other columns: no role may select these columns, and the views here show them to whoever may read payloads
-- (payload_tenant). They read with the rights of the owner, so each compares the tenant itself; the barrier keeps conditions
-- of a caller from seeing a row before that. Read them with a scalar subquery: one index lookup for each row that is shown.
-- The last three are whole records, for whoever compares them with the log, and so sees every step.

-- Inputs of runs.
create or replace view stepwell.v_run_payload with (security_barrier = true) as
select r.tenant_id, r.run_id, r.input
from stepwell.run_detail as r
where (select stepwell.payload_tenant()) in (0, r.tenant_id);

-- Payloads of jobs.
create or replace view stepwell.v_job_payload with (security_barrier = true) as
select j.tenant_id, j.job_id, j.payload
from stepwell.job_detail as j
where (select stepwell.payload_tenant()) in (0, j.tenant_id);

-- What an action was given, what came back, what was there before, and how it is reversed.
create or replace view stepwell.v_receipt_payload with (security_barrier = true) as
select r.tenant_id, r.receipt_id, r.request_metadata, r.response_metadata, r.prior, r.reversal
from stepwell.action_receipt as r
where (select stepwell.payload_tenant()) in (0, r.tenant_id)
    and ((select stepwell.sees_all_steps()) or stepwell.unit_is_shown(r.tenant_id, r.unit_id, (select stepwell.hidden_steps())));

-- Inputs that schedules give to their runs.
create or replace view stepwell.v_schedule_payload with (security_barrier = true) as
select s.tenant_id, s.schedule_name, s.input
from stepwell.workflow_schedule as s
where (select stepwell.payload_tenant()) in (0, s.tenant_id);

-- What verification reads of an approval.
create or replace view stepwell.v_audit_approval with (security_barrier = true) as
select
    a.tenant_id, a.approval_id, a.action, a.subject_unit_id, a.tier, a.quorum, a.requested_by, a.reason, a.requested_at,
    a.expires_at, a.decided_at, a.decided_by, a.acting, a.approvers, a.approver_role, a.request_key, a.about
from stepwell.approval_detail as a
where (select stepwell.payload_tenant()) in (0, a.tenant_id) and (select stepwell.sees_all_steps());

-- What verification reads of a receipt.
create or replace view stepwell.v_audit_receipt with (security_barrier = true) as
select
    r.tenant_id, r.receipt_id, r.unit_id, r.run_id, r.step_id, r.lease_no, r.try_count, r.idempotency_key, r.connector,
    r.operation, r.target, r.action_hash, r.writes, r.reversible, r.external_id, r.provider, r.model, r.input_tokens,
    r.output_tokens, r.cost_micros, r.currency, r.verdict_id, r.approval_id, r.requested_by, r.acting, r.reverses_receipt_id,
    r.reversed_by_receipt_id, r.settled_by, r.intended_at, r.settled_at, r.intent_token, r.request_metadata,
    r.response_metadata, r.prior, r.reversal, r.session_id
from stepwell.action_receipt as r
where (select stepwell.payload_tenant()) in (0, r.tenant_id) and (select stepwell.sees_all_steps());

-- What verification reads of a version.
create or replace view stepwell.v_audit_version with (security_barrier = true) as
select
    v.tenant_id, v.version_id, v.workflow_id, v.version_no, v.graph, v.graph_hash, v.published_by, v.published_at, v.step_count,
    v.is_template, v.input_schema, v.failure_policy
from stepwell.workflow_version as v
where (select stepwell.payload_tenant()) in (0, v.tenant_id) and (select stepwell.sees_all_steps());
