-- Purpose: the steps that stand still because of a step in waiting or blocked, with the blocker each hangs on.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW007 for another tenant.
create or replace function stepwell.fn_run_blocked_downstream(p_tenant_id int, p_run_id bigint)
returns table (unit_id bigint, blocker_unit_id bigint)
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    perform stepwell._tenant_bound(p_tenant_id);
    return query
    with recursive down as (
        select u.unit_id, u.version_id, u.def_no, u.unit_id as blocker_unit_id
        from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.scope = 'step' and u.state_code in ('waiting', 'blocked')
            and u.unit_id between (p_run_id << 20) + 1 and ((p_run_id + 1) << 20) - 1
        union
        select s.unit_id, s.version_id, s.def_no, d.blocker_unit_id
        from down as d
        inner join stepwell.workflow_step_relations as r
            on r.tenant_id = p_tenant_id and d.version_id = r.version_id and d.def_no = r.from_no
        inner join stepwell.work_unit as s on s.tenant_id = p_tenant_id and s.unit_id = d.unit_id + r.to_no - d.def_no
        where s.state_code = 'not_started'
    )
    select d.unit_id, min(d.blocker_unit_id) from down as d where d.unit_id <> d.blocker_unit_id group by d.unit_id;
end
$$;
