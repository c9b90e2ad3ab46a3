-- Purpose: the claim itself. Tenants take turns by weight; inside a tenant priority decides, then age. Units that the
--   report of the same call handed on count first; when that report saw an empty queue (p_is_dry), it is not asked again.
--   Hands on what a handler needs of each: operation, input, why it runs again, time limit. What only few units have is
--   read by functions of its own: a subquery that is never run still has to be prepared for each call.
-- Locks: as _fresh_take.
-- Idempotency: none.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._claim(
    p_session_id bigint, p_class_ids int[], p_is_idle boolean, p_limit int, p_now timestamptz,
    p_tenant_id int default null, p_handed_ids bigint[] default null, p_is_dry boolean default false
)
returns setof stepwell.job_lease
language plpgsql volatile
as $$
declare
    v_handed_count constant int := coalesce(cardinality(p_handed_ids), 0);
    v_fresh record;
    v_tenant_ids int[] := array_fill(p_tenant_id, array[v_handed_count]);
    v_unit_ids bigint[] := p_handed_ids;
    v_batch_id bigint;
    v_is_idle boolean;
begin
    if not p_is_dry and p_limit > v_handed_count then
        v_fresh := stepwell._fresh_take(p_session_id, p_class_ids, least(p_limit, 1000) - v_handed_count, p_now);
        v_tenant_ids := v_tenant_ids || v_fresh.tenant_ids;
        v_unit_ids := v_unit_ids || v_fresh.unit_ids;
    end if;
    v_is_idle := coalesce(cardinality(v_unit_ids), 0) < p_limit;
    if v_is_idle <> p_is_idle then
        -- Idle: it could take more. A worker asks once more after this has changed, since what was made ready in between
        -- was made by somebody who did not yet see it.
        -- Only a hint, so never waited for: whoever recovers this session holds its row and wants the runs we hold.
        update stepwell.worker_session as s set is_idle = v_is_idle
        where s.session_id = (select x.session_id from stepwell.worker_session as x
            where x.session_id = p_session_id for no key update skip locked);
    end if;
    if v_unit_ids is null or v_unit_ids = '{}' then
        return;
    end if;
    insert into stepwell.worker_lease (session_id, tenant_ids, unit_ids)
    values (p_session_id, v_tenant_ids, v_unit_ids)
    returning batch_id into v_batch_id;
    return query
    select
        'lease'::text, q.tenant_id, u.unit_id, u.lease_no, v_batch_id, o.operation_name, u.attempt_count + 1,
        u.max_attempts::int, coalesce(d.timeout_seconds, o.timeout_seconds), d.step_id,
        x.input,
        case when u.item_no is not null then stepwell._item_read(u.tenant_id, u.parent_id, u.item_no)
            || coalesce(stepwell._inputs_bind(u.tenant_id, u.unit_id, d.inputs, d.config -> 'reads'), '{}')
        when d.inputs is not null then stepwell._inputs_bind(u.tenant_id, u.unit_id, d.inputs, d.config -> 'reads') end,
        case when u.lease_no > 1 then stepwell._wake_read(u.tenant_id, u.unit_id) end,
        case when u.lease_no > 1 then stepwell._checkpoints_read(u.tenant_id, u.unit_id) end,
        x.trace_id, x.correlation_id, u.deadline_at
    from (select unnest(v_tenant_ids) as tenant_id, unnest(v_unit_ids) as unit_id) as q
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
