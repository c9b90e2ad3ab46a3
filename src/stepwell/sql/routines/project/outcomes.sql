-- How runs and free-standing jobs ended, for a client that asks.

-- The state of every run, and its result once it has completed, for whoever may read payloads.
create or replace view stepwell.v_run_outcome with (security_invoker = true) as
select
    r.tenant_id,
    r.run_id,
    u.state_code,
    case when u.state_code = 'completed' and (select stepwell.payload_tenant()) is not null
        then stepwell._run_result(r.tenant_id, r.run_id) end as result
from stepwell.run_detail as r
-- Under row level security a join would read every unit of the tenant.
cross join lateral (
    select x.state_code from stepwell.work_unit as x
    where x.tenant_id = r.tenant_id and x.unit_id = stepwell._run_unit(r.run_id) offset 0
) as u;

-- The state of every unit that workers execute, and the output of its last lease.
create or replace view stepwell.v_job_outcome with (security_invoker = true) as
select
    u.tenant_id,
    u.unit_id as job_id,
    u.state_code,
    o.output
from stepwell.work_unit as u
left join stepwell.unit_output as o
    on u.tenant_id = o.tenant_id and u.unit_id = o.unit_id and u.lease_no = o.lease_no;
