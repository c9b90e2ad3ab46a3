-- Steps of the engine whose expression is too costly to be evaluated here, while runs are locked and other work waits: they
-- enter the queue as an operation, and a worker evaluates the expression in a transaction of its own
-- (fn_expression_evaluate). Its report brings the value. Callers hold the locks of the runs. SW004: the registry refuses.

-- Puts ready steps into the queue, as the operation stepwell.evaluate, which every worker serves. Their executor class is
-- the lowest one of the operations of their version: the run needs workers of that class anyway. They have a contract: a
-- worker reports the value, it cannot complete them (_output_contract_problem).
create or replace function stepwell._steps_defer(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    insert into stepwell.operation (tenant_id, operation_name, executor_class_id)
    select distinct q.tenant_id, 'stepwell.evaluate', c.executor_class_id
    from unnest(p_tenant_ids) as q (tenant_id)
    inner join stepwell.executor_class as c on c.class_name = 'default'
    where not exists (select from stepwell.operation as o
        where o.tenant_id = q.tenant_id and o.operation_name = 'stepwell.evaluate')
    order by q.tenant_id
    on conflict do nothing;
    update stepwell.work_unit as u set
        operation_id = o.operation_id, max_attempts = o.max_attempts, has_contract = true,
        executor_class_id = coalesce((
            select min(x.executor_class_id)
            from stepwell.workflow_step_def as d
            inner join stepwell.operation as x on d.tenant_id = x.tenant_id and d.operation_id = x.operation_id
            where d.tenant_id = u.tenant_id and d.version_id = u.version_id
        ), o.executor_class_id)
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.operation as o on q.tenant_id = o.tenant_id and o.operation_name = 'stepwell.evaluate'
    where u.tenant_id = q.tenant_id and u.unit_id = q.unit_id;
    perform stepwell._units_queue(p_tenant_ids, p_unit_ids);
end
$$;

-- Steps whose expressions a worker has evaluated are carried out. A body has a value or a problem; neither, when the
-- expression found nothing. Callers have checked the leases, which end here.
-- Raises: SW001 for a unit that is no such step.
create or replace function stepwell._steps_resume(p_tenant_ids int[], p_unit_ids bigint[], p_bodies jsonb[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_kind record;
begin
    if exists (
        select from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        inner join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
        where o.operation_name <> 'stepwell.evaluate'
    ) then
        raise exception using errcode = 'SW001',
            message = 'outcome: evaluated is accepted only for leases of the operation stepwell.evaluate';
    end if;
    perform stepwell._steps_take_back(p_tenant_ids, p_unit_ids);
    for v_kind in
        select d.step_kind, array_agg(u.tenant_id order by u.unit_id) as tenant_ids,
            array_agg(u.unit_id order by u.unit_id) as unit_ids,
            array_agg(q.body -> 'value' order by u.unit_id) as values,
            array_agg(q.body ->> 'problem' order by u.unit_id) as problems
        from unnest(p_tenant_ids, p_unit_ids, p_bodies) as q (tenant_id, unit_id, body)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        group by d.step_kind
        order by d.step_kind
    loop
        perform stepwell._engine_step(v_kind.step_kind, v_kind.tenant_ids, v_kind.unit_ids, v_kind.values, v_kind.problems);
    end loop;
end
$$;

-- Makes deferred steps steps of the engine again: after the evaluation, and before they are carried out once more. Leaves
-- other units alone.
create or replace function stepwell._steps_take_back(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language sql volatile
set search_path = stepwell, pg_temp
as $$
    update stepwell.work_unit as u set
        operation_id = null, executor_class_id = null, lease_session_id = null, max_attempts = d.max_attempts,
        has_contract = d.has_contract
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    cross join stepwell.workflow_step_def as d
    where u.tenant_id = q.tenant_id and u.unit_id = q.unit_id and u.operation_id is not null
        and d.tenant_id = u.tenant_id and d.version_id = u.version_id and d.step_no = u.def_no and d.operation_id is null
$$;
