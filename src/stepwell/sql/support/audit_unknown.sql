-- Rows beside the log whose unit has no event: nobody can have written them through the engine. A step that has not begun
-- has no event and no values.
with seen as materialized (
    select distinct e.unit_id from stepwell.event_log as e where e.tenant_id = %(tenant_id)s
), beside (what, unit_id, at) as (
    select 'input', r.run_id << 20, r.created_at from stepwell.run_detail as r where r.tenant_id = %(tenant_id)s
    union all
    select 'payload', j.job_id, j.created_at from stepwell.job_detail as j where j.tenant_id = %(tenant_id)s
    union all
    select 'output', o.unit_id, o.created_at from stepwell.unit_output as o where o.tenant_id = %(tenant_id)s
    union all
    select 'failure', f.unit_id, f.failed_at from stepwell.unit_failure as f where f.tenant_id = %(tenant_id)s
    union all
    select 'shown', i.unit_id, i.bound_at from stepwell.step_input as i where i.tenant_id = %(tenant_id)s
    union all
    select 'state', u.unit_id, u.last_transition_at from stepwell.work_unit as u
    where u.tenant_id = %(tenant_id)s and u.state_code is distinct from 'not_started'
)
select b.what, b.unit_id
from beside as b
where not exists (select from seen as s where s.unit_id = b.unit_id)
    and not coalesce(to_char(b.at at time zone 'UTC', 'YYYY-MM') = any (%(archived)s), false)
order by b.unit_id, b.what
limit %(limit)s
