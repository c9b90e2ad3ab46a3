-- Purpose: Map steps of these runs whose items have all settled: completed with the items' results in order, or failed
--   for good when a mandatory step of an item could not complete. Returns how many ended.
-- Locks: the caller holds the runs.
-- Idempotency: a map that has ended is passed over.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._maps_settle(p_tenant_ids int[], p_run_ids bigint[]) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_map record;
    v_failed int;
    v_count int := 0;
begin
    for v_map in
        select u.tenant_id, u.unit_id, u.version_id, u.def_no, v.failure_policy
        from (
            select distinct m.tenant_id, m.unit_id
            from unnest(p_tenant_ids, p_run_ids) as q (tenant_id, run_id)
            inner join stepwell.map_item as m
                on q.tenant_id = m.tenant_id and m.unit_id between q.run_id << 20 and ((q.run_id + 1) << 20) - 1
                and m.item_no = 0
        ) as o
        inner join stepwell.work_unit as u on o.tenant_id = u.tenant_id and o.unit_id = u.unit_id
        inner join stepwell.workflow_version as v on u.tenant_id = v.tenant_id and u.version_id = v.version_id
        where u.state_code in ('in_progress', 'overdue')
            and (u.pending_count = 0 or v.failure_policy = 'abort-dependents')
        order by u.unit_id desc
    loop
        select count(*) filter (where u.state_code = 'cannot_complete' and not d.optional and not u.failure_caught)
        into v_failed
        from stepwell.work_unit as u
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        where u.tenant_id = v_map.tenant_id and u.parent_id = v_map.unit_id and u.scope = 'step';
        if v_failed > 0 and v_map.failure_policy = 'abort-dependents' then
            perform stepwell._map_abort(v_map.tenant_id, v_map.unit_id);
        end if;
        if exists (select from stepwell.work_unit as u
            where u.tenant_id = v_map.tenant_id and u.unit_id = v_map.unit_id and u.pending_count > 0) then
            continue;
        end if;
        v_count := v_count + 1;
        if v_failed > 0 then
            perform stepwell._units_fail(array[v_map.tenant_id], array[v_map.unit_id], array[jsonb_build_object(
                'failure_class', 'upstream_failed', 'outcome', 'dead', 'error', jsonb_build_object('type', 'MapFailed',
                    'message', format('%s steps of the items could not complete', v_failed)))], 'mow_orchestrator');
        else
            perform stepwell._engine_complete(array[v_map.tenant_id], array[v_map.unit_id],
                array[stepwell._map_result(v_map.tenant_id, v_map.unit_id)]);
        end if;
    end loop;
    return v_count;
end
$$;
