-- Purpose: under the policy abort-dependents a failed map gives up the items that are still under way.
-- Locks: the caller holds the run.
-- Idempotency: settled units are passed over.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._map_abort(p_tenant_id int, p_unit_id bigint) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_open record;
begin
    with recursive inside as (
        select u.unit_id, u.state_code, u.lease_session_id, u.slot_key
        from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.parent_id = p_unit_id and u.scope = 'step'
        union all
        select u.unit_id, u.state_code, u.lease_session_id, u.slot_key
        from inside as i
        inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.parent_id = i.unit_id and u.scope = 'step'
    )
    select array_agg(p_tenant_id) as tenant_ids, array_agg(i.unit_id order by i.unit_id) as unit_ids,
        array_agg(i.unit_id) filter (where i.lease_session_id is not null and i.slot_key is not null) as slot_ids
    into v_open
    from inside as i
    where i.state_code not in ('completed', 'skipped', 'cancelled', 'cannot_complete');
    if v_open.unit_ids is not null then
        perform stepwell._units_dequeue(v_open.tenant_ids, v_open.unit_ids);
        perform stepwell._must_apply(v_open.tenant_ids, v_open.unit_ids, 'cancelled', 'mow_orchestrator',
            'condition_resolved', 'upstream_failed', 'engine', null,
            array_fill('{"reason": "upstream_failed"}'::jsonb, array[cardinality(v_open.unit_ids)]));
        if v_open.slot_ids is not null then
            perform stepwell._slots_free(array_fill(p_tenant_id, array[cardinality(v_open.slot_ids)]), v_open.slot_ids);
        end if;
        perform stepwell._subruns_cancel(p_tenant_id, v_open.unit_ids, 'engine', 'upstream_failed');
    end if;
end
$$;
