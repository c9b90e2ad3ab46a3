-- Purpose: steps whose predecessors are done become ready, and what follows from it happens at once.
-- Locks: the caller holds the runs.
-- Idempotency: a step that is no longer not_started is refused by the registry.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._units_ready(
    p_tenant_ids int[], p_unit_ids bigint[], p_released_counts int[], p_has_engine_steps boolean, p_has_slots boolean
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    if p_unit_ids is null then
        return;
    end if;
    perform stepwell._must_apply(p_tenant_ids, p_unit_ids, 'ready', 'mow_orchestrator', 'condition_resolved', null,
        'engine', null, null, p_released_counts);
    perform stepwell._ready_follow(p_tenant_ids, p_unit_ids, p_has_engine_steps, p_has_slots);
end
$$;
