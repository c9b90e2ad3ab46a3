-- Purpose: dead units become ready again. A map that has its items goes on with them: it is opened first, one map at a
--   time, because each unit that opens inside it is counted in its row.
-- Locks: the caller holds the run or the job.
-- Idempotency: the registry refuses a unit that is not dead.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._replay_units(
    p_tenant_id int, p_unit_ids bigint[], p_evidence jsonb[], p_actor text
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_map record;
    v_rest record;
begin
    update stepwell.work_unit as u set attempt_count = 0, completed_at = null
    where u.tenant_id = p_tenant_id and u.unit_id = any (p_unit_ids);
    for v_map in
        select q.unit_id, q.evidence
        from unnest(p_unit_ids, p_evidence) as q (unit_id, evidence)
        where exists (select from stepwell.map_item as m where m.tenant_id = p_tenant_id and m.unit_id = q.unit_id)
        order by q.unit_id
    loop
        perform stepwell._must_apply(array[p_tenant_id], array[v_map.unit_id], 'ready', 'system', 'event', 'replay_approved',
            p_actor, array[v_map.evidence], array[v_map.evidence]);
        perform stepwell._must_apply(array[p_tenant_id], array[v_map.unit_id], 'in_progress', 'mow_orchestrator',
            'condition_resolved', null, 'engine');
    end loop;
    select array_agg(p_tenant_id) as tenant_ids, array_agg(q.unit_id order by q.unit_id) as unit_ids,
        array_agg(q.evidence order by q.unit_id) as evidence
    into v_rest
    from unnest(p_unit_ids, p_evidence) as q (unit_id, evidence)
    where not exists (select from stepwell.map_item as m where m.tenant_id = p_tenant_id and m.unit_id = q.unit_id);
    perform stepwell._must_apply(v_rest.tenant_ids, v_rest.unit_ids, 'ready', 'system', 'event', 'replay_approved', p_actor,
        v_rest.evidence, v_rest.evidence);
end
$$;
