-- Purpose: steps whose predecessors are done become ready: executable ones are queued, the engine's own kinds
--   (wait, decision, map, sub-workflow) are carried out at once, human steps wait for a person.
-- Locks: the caller holds the runs.
-- Idempotency: a step that is no longer not_started is refused by the registry.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._units_ready(p_tenant_ids int[], p_unit_ids bigint[], p_released_counts int[])
returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set random_page_cost = 0.01
as $$
declare
    v_engine_tenant_ids int[];
    v_engine_unit_ids bigint[];
begin
    if p_unit_ids is null then
        return;
    end if;
    perform stepwell._must_apply(p_tenant_ids, p_unit_ids, 'ready', 'mow_orchestrator', 'condition_resolved', null,
        'engine', null, null, p_released_counts);
    perform stepwell._units_queue(p_tenant_ids, p_unit_ids);
    select array_agg(u.tenant_id order by u.unit_id), array_agg(u.unit_id order by u.unit_id)
    into v_engine_tenant_ids, v_engine_unit_ids
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where u.class_id is null;
    if v_engine_unit_ids is not null then
        perform stepwell._engine_steps(v_engine_tenant_ids, v_engine_unit_ids);
    end if;
end
$$;
