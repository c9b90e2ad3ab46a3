-- Purpose: what follows when steps became ready: executable ones are claimable already, those with a slot take their place
--   in its line, the engine's own kinds (wait, decision, map, sub-workflow) are carried out, human steps wait for a person.
-- Locks: the caller holds the runs.
-- Idempotency: called once with the change.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._ready_follow(
    p_tenant_ids int[], p_unit_ids bigint[], p_has_engine_steps boolean, p_has_slots boolean
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_engine record;
begin
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
