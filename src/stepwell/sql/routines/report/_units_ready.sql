-- Purpose: steps whose predecessors are done become ready: executable ones are claimable with it, the engine's own kinds
--   (wait, decision, map, sub-workflow) are carried out at once, human steps wait for a person.
-- Locks: the caller holds the runs.
-- Idempotency: a step that is no longer not_started is refused by the registry.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._units_ready(
    p_tenant_ids int[], p_unit_ids bigint[], p_released_counts int[], p_has_engine_steps boolean, p_has_slots boolean
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_engine record;
begin
    if p_unit_ids is null then
        return;
    end if;
    perform stepwell._must_apply(p_tenant_ids, p_unit_ids, 'ready', 'mow_orchestrator', 'condition_resolved', null,
        'engine', null, null, p_released_counts);
    if p_has_slots then
        perform stepwell._slots_take(p_tenant_ids, p_unit_ids);
    end if;
    if p_has_engine_steps then
        select array_agg(u.tenant_id order by u.unit_id) as tenant_ids, array_agg(u.unit_id order by u.unit_id) as unit_ids
        into v_engine
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        where u.class_id is null;
        perform stepwell._engine_steps(v_engine.tenant_ids, v_engine.unit_ids);
    end if;
end
$$;
