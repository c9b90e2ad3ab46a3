-- Purpose: the steps, to any depth, of the branches these decisions did not open.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._branches_not_taken(p_tenant_ids int[], p_unit_ids bigint[], p_results boolean[])
returns table (tenant_id int, unit_id bigint)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with recursive closed as (
        select u.tenant_id, u.version_id, u.unit_id - u.def_no as base_id, d.scope_no, b.branch_no
        from unnest(p_tenant_ids, p_unit_ids, p_results) as q (tenant_id, unit_id, result)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        inner join stepwell.workflow_branch as b
            on u.tenant_id = b.tenant_id and u.version_id = b.version_id and u.def_no = b.decision_no
        where b.negated = q.result
        union
        select c.tenant_id, c.version_id, c.base_id, c.scope_no, b.branch_no
        from closed as c
        inner join stepwell.workflow_branch as b
            on c.tenant_id = b.tenant_id and c.version_id = b.version_id and c.branch_no = b.parent_branch_no
    )
    select s.tenant_id, s.unit_id
    from closed as c
    inner join stepwell.workflow_step_def as d
        on c.tenant_id = d.tenant_id and c.version_id = d.version_id and c.branch_no = d.branch_no
        and c.scope_no = d.scope_no
    inner join stepwell.work_unit as s
        on c.tenant_id = s.tenant_id and c.base_id + d.step_no = s.unit_id and s.state_code = 'not_started'
$$;
