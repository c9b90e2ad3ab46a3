-- Purpose: what an expression of a step may read: {input, steps: {id: {status, output, error}}} and, inside a Map,
--   item and index. With a list of step numbers only those are read.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._unit_document(
    p_tenant_id int, p_unit_id bigint, p_step_nos int[] default null
) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select jsonb_build_object(
        'input', r.input,
        'steps', coalesce((
            select jsonb_object_agg(d.step_id, jsonb_strip_nulls(jsonb_build_object(
                'status', coalesce(s.dialect_code, u.state_code), 'error', f.error))
                || jsonb_build_object('output', o.output))
            from stepwell.work_unit as u
            inner join stepwell.workflow_step_def as d
                on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
            left join stepwell.state_dialect as s
                on s.dialect = 'node' and s.scope = 'step' and u.state_code = s.state_code
                and s.qualifier = case when u.state_code = 'failed' then 'transient' else '' end
            left join lateral (
                select x.output from stepwell.unit_output as x
                where x.tenant_id = u.tenant_id and x.unit_id = u.unit_id
                order by x.lease_no desc limit 1
            ) as o on u.state_code = 'completed'
            left join lateral (
                select x.error from stepwell.unit_failure as x
                where x.tenant_id = u.tenant_id and x.unit_id = u.unit_id
                order by x.failed_at desc limit 1
            ) as f on u.state_code in ('failed', 'cannot_complete')
            where u.tenant_id = p_tenant_id
                and u.unit_id between ((p_unit_id >> 20) << 20) + 1 and (((p_unit_id >> 20) + 1) << 20) - 1
                and (p_step_nos is null or u.def_no = any (p_step_nos))
                and (d.scope_no = 0 or u.parent_id = me.parent_id)
        ), '{}')
    )
    from stepwell.run_detail as r
    left join stepwell.work_unit as me on me.tenant_id = p_tenant_id and me.unit_id = p_unit_id
    where r.tenant_id = p_tenant_id and r.run_id = p_unit_id >> 20
$$;
