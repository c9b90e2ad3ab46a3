-- Purpose: units that completed: state changed under their lease, successors released in the same breath, outputs kept,
--   slots handed on. A unit whose output breaks its contract fails permanently instead. Returns the units whose
--   report was taken.
-- Locks: the caller holds the runs.
-- Idempotency: a report whose lease is gone is refused by the core and leaves nothing.
-- Raises: SW004 when the registry refuses for another reason.
create or replace function stepwell._report_completed(
    p_session_id bigint, p_tenant_ids int[], p_unit_ids bigint[], p_lease_nos int[], p_bodies text[], p_now timestamptz
) returns bigint[]
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_count constant int := cardinality(p_unit_ids);
    v_next record;
    v_done record;
    v_evidence jsonb[];
begin
    select n.* into v_next from stepwell._successors_find(p_session_id, p_tenant_ids, p_unit_ids, p_lease_nos) as n;
    if v_next.has_contract then
        return stepwell._report_contracts(p_session_id, p_tenant_ids, p_unit_ids, p_lease_nos, p_bodies, p_now);
    end if;
    select
        array_agg(a.tenant_id) filter (where a.slot_key is not null) as slot_tenant_ids,
        array_agg(a.unit_id) filter (where a.slot_key is not null) as slot_ids,
        count(*) filter (where a.ok) as ok_count
    into v_done
    from stepwell._transition_apply(
        p_tenant_ids || v_next.tenant_ids, p_unit_ids || v_next.unit_ids,
        array_fill('completed'::text, array[v_count]) || v_next.to_states, 'executor_worker', 'rpc', 'step_complete',
        p_released_counts => array_fill(0, array[v_count]) || v_next.released_counts,
        p_session_id => p_session_id, p_lease_nos => p_lease_nos, p_engine_from => v_count + 1, p_now => p_now) as a
    ;
    if v_done.ok_count <> cardinality(v_next.held_ids) + coalesce(cardinality(v_next.unit_ids), 0) then
        raise exception using errcode = '40001', message = 'a unit was changed by another transaction while it was reported';
    end if;
    if array_remove(p_bodies, null) <> '{}' then
        insert into stepwell.unit_output (tenant_id, unit_id, lease_no, output, created_at)
        select q.tenant_id, q.unit_id, q.lease_no, q.body::jsonb, p_now
        from unnest(p_tenant_ids, p_unit_ids, p_lease_nos, p_bodies) as q (tenant_id, unit_id, lease_no, body)
        where q.body is not null and q.unit_id = any (v_next.held_ids);
    end if;
    if v_done.slot_ids is not null then
        perform stepwell._slots_pass(v_done.slot_tenant_ids, v_done.slot_ids);
    end if;
    if v_next.has_engine_steps then
        perform stepwell._engine_steps(v_next.tenant_ids, v_next.unit_ids);
    end if;
    return v_next.held_ids;
end
$$;
