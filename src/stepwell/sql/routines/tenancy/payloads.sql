-- Payloads beside other columns: no role may select these columns, and the views here show them to whoever may read payloads
-- (payload_tenant). They read with the rights of the owner, so each compares the tenant itself; the barrier keeps conditions
-- of a caller from seeing a row before that. Read them with a scalar subquery: one index lookup for each row that is shown.

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
where (select stepwell.payload_tenant()) in (0, r.tenant_id);

-- Inputs that schedules give to their runs.
create or replace view stepwell.v_schedule_payload with (security_barrier = true) as
select s.tenant_id, s.schedule_name, s.input
from stepwell.workflow_schedule as s
where (select stepwell.payload_tenant()) in (0, s.tenant_id);
