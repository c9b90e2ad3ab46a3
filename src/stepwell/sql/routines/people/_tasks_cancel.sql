-- Purpose: tasks that are still open when their step has ended are called off with it.
-- Locks: the caller holds the runs.
-- Idempotency: tasks that have ended are passed over.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._tasks_cancel(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_open record;
begin
    select array_agg(t.tenant_id order by t.unit_id) as tenant_ids, array_agg(t.unit_id order by t.unit_id) as unit_ids
    into v_open
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as t on q.tenant_id = t.tenant_id and q.unit_id = t.parent_id
    where t.scope = 'task' and t.state_code not in ('completed', 'skipped', 'cancelled', 'cannot_complete');
    if v_open.unit_ids is not null then
        perform stepwell._units_dequeue(v_open.tenant_ids, v_open.unit_ids);
        perform stepwell._must_apply(v_open.tenant_ids, v_open.unit_ids, 'cancelled', 'system', 'rpc', 'workflow_cancel',
            'engine', null, array_fill('{"reason": "parent_cancelled"}'::jsonb, array[cardinality(v_open.unit_ids)]));
    end if;
end
$$;
