-- Purpose: nodes the engine carries out itself (map, sub-workflow, wait) end with an output, and what follows is released.
--   One that waited for an event ends by it.
-- Locks: the caller holds the runs.
-- Idempotency: a node that no longer runs is refused by the registry.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._engine_complete(
    p_tenant_ids int[], p_unit_ids bigint[], p_outputs jsonb[], p_by_event boolean default false
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    insert into stepwell.unit_output (tenant_id, unit_id, lease_no, output, created_at)
    select q.tenant_id, q.unit_id, u.lease_no, q.output, stepwell.now()
    from unnest(p_tenant_ids, p_unit_ids, p_outputs) as q (tenant_id, unit_id, output)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where q.output is not null;
    perform stepwell._must_apply(p_tenant_ids, p_unit_ids, 'completed', case when p_by_event then 'system' else 'mow_orchestrator' end,
        case when p_by_event then 'event' else 'condition_resolved' end, null, 'engine');
    perform stepwell._advance(p_tenant_ids, p_unit_ids);
end
$$;
