-- Purpose: what a handler needs of each freshly leased unit: operation, input, why it runs again, time limit.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._leases_read(p_batch_id bigint, p_tenant_ids int[], p_unit_ids bigint[])
returns setof stepwell.job_lease
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return query
    select
        'lease'::text, q.tenant_id, u.unit_id, u.lease_no, p_batch_id, o.operation_name, u.attempt_count + 1,
        u.max_attempts::int, coalesce(d.timeout_seconds, o.timeout_seconds), d.step_id,
        x.input,
        case when u.item_no is not null then (
            select jsonb_build_object('item', i.item, 'index', i.item_no) from stepwell.map_item as i
            where i.tenant_id = u.tenant_id and i.unit_id = u.parent_id and i.item_no = u.item_no)
            || coalesce(stepwell._inputs_bind(u.tenant_id, u.unit_id, d.inputs, d.config -> 'reads'), '{}')
        when d.inputs is not null then stepwell._inputs_bind(u.tenant_id, u.unit_id, d.inputs, d.config -> 'reads') end,
        case when u.lease_no > 1 then (
            select jsonb_build_object('task_type', w.task_type, 'event_type', w.event_type, 'payload', w.payload)
            from stepwell.unit_wake as w where w.tenant_id = u.tenant_id and w.unit_id = u.unit_id) end,
        case when u.lease_no > 1 then (
            select jsonb_object_agg(c.checkpoint_name, c.checkpoint_value)
            from stepwell.unit_checkpoint as c where c.tenant_id = u.tenant_id and c.unit_id = u.unit_id) end,
        x.trace_id, x.correlation_id, u.deadline_at
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    inner join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
    cross join lateral (
        select r.input, r.trace_id, r.correlation_id
        from stepwell.run_detail as r
        where u.scope in ('step', 'task') and r.tenant_id = u.tenant_id and r.run_id = u.unit_id >> 20
        union all
        select j.payload, j.trace_id, j.correlation_id
        from stepwell.job_detail as j
        where u.scope = 'job' and j.tenant_id = u.tenant_id and j.job_id = u.unit_id
    ) as x
    left join stepwell.workflow_step_def as d
        on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no;
end
$$;
