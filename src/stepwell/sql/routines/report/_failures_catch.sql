-- Purpose: the failures these decisions have read, themselves or through what was aborted because of them, count as
--   caught: they no longer make the run fail.
-- Locks: the caller holds the runs.
-- Idempotency: a failure is caught once.
-- Raises: nothing.
create or replace function stepwell._failures_catch(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language sql volatile
set search_path = stepwell, pg_temp
as $$
    with recursive up as (
        select u.tenant_id, u.unit_id, u.version_id, u.def_no, u.state_code
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        union
        select s.tenant_id, s.unit_id, s.version_id, s.def_no, s.state_code
        from up as d
        inner join stepwell.workflow_step_relations as r
            on d.tenant_id = r.tenant_id and d.version_id = r.version_id and d.def_no = r.to_no
        inner join stepwell.work_unit as s
            on s.tenant_id = d.tenant_id and s.unit_id = d.unit_id + r.from_no - d.def_no
        where d.state_code <> 'cannot_complete' and s.state_code in ('cannot_complete', 'cancelled')
    ), caught as (
        update stepwell.work_unit as w set failure_caught = true
        from up as u
        where u.state_code = 'cannot_complete' and w.tenant_id = u.tenant_id and w.unit_id = u.unit_id
            and not w.failure_caught
        returning w.tenant_id, w.unit_id >> 20 as run_id, w.mandatory
    )
    update stepwell.run_progress as p set failed_count = p.failed_count - c.caught_count
    from (select x.tenant_id, x.run_id, count(*) filter (where x.mandatory) as caught_count
        from caught as x group by x.tenant_id, x.run_id) as c
    where p.tenant_id = c.tenant_id and p.run_id = c.run_id
$$;
