-- Steps of runs that have no row. A step that has not begun has no event; only the definition of its run says that it exists.
select (r.run_id << 20) | d.step_no
from stepwell.run_detail as r
inner join stepwell.workflow_step_def as d on r.tenant_id = d.tenant_id and r.version_id = d.version_id
where r.tenant_id = %(tenant_id)s and d.scope_no = 0
    and not exists (select from stepwell.work_unit as u
        where u.tenant_id = r.tenant_id and u.unit_id = (r.run_id << 20) | d.step_no)
order by 1
limit %(limit)s
