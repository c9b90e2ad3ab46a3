-- A run with a mandatory step that was cancelled fails now, unless a conditional caught the cancellation. Conditionals that
-- were decided before this release marked only the failures behind cancelled steps: mark these steps too.
with recursive runs as materialized (
    select distinct u.tenant_id, u.unit_id >> 20 as run_id
    from stepwell.work_unit as u
    where u.scope = 'step' and u.state_code = 'cancelled'
), up as (
    select u.tenant_id, u.unit_id, u.version_id, u.def_no, u.state_code
    from runs as r
    inner join stepwell.work_unit as u
        on r.tenant_id = u.tenant_id and u.unit_id between r.run_id << 20 and ((r.run_id + 1) << 20) - 1
    inner join stepwell.workflow_step_def as d
        on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    where u.scope = 'step' and u.state_code = 'completed' and d.step_kind = 'conditional'
    union
    select s.tenant_id, s.unit_id, s.version_id, s.def_no, s.state_code
    from up as d
    inner join stepwell.workflow_step_relations as r
        on d.tenant_id = r.tenant_id and d.version_id = r.version_id and d.def_no = r.to_no
    inner join stepwell.work_unit as s
        on s.tenant_id = d.tenant_id and s.unit_id = d.unit_id + r.from_no - d.def_no
    where d.state_code <> 'cannot_complete' and s.state_code in ('cannot_complete', 'cancelled')
)
update stepwell.work_unit as w set failure_caught = true
from up as u
where u.state_code = 'cancelled' and w.tenant_id = u.tenant_id and w.unit_id = u.unit_id and not w.failure_caught;
