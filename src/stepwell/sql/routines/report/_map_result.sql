-- Purpose: the result of a Map: one entry per item, in order: the output of the body's only exit step, or an object of
--   its exit steps' outputs by id. A step without output counts as null.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._map_result(p_tenant_id int, p_unit_id bigint) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select jsonb_agg(i.result order by i.item_no)
    from (
        select u.item_no, case count(*) when 1 then jsonb_agg(coalesce(o.output, 'null')) -> 0
            else jsonb_object_agg(d.step_id, coalesce(o.output, 'null')) end as result
        from stepwell.work_unit as u
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        left join stepwell.unit_output as o
            on u.tenant_id = o.tenant_id and u.unit_id = o.unit_id and u.lease_no = o.lease_no
        where u.tenant_id = p_tenant_id and u.parent_id = p_unit_id and u.scope = 'step'
            and not exists (select from stepwell.workflow_step_relations as r
                where r.tenant_id = u.tenant_id and r.version_id = u.version_id and r.from_no = u.def_no)
        group by u.item_no
    ) as i
$$;
