-- Purpose: units that completed: state changed under their lease, successors released in the same breath and the first of
--   them handed on to the same session, outputs kept, slots passed on. A unit whose output breaks its contract fails
--   permanently instead. Returns the units whose report was taken, those handed on, the runs to settle, whether the
--   queue holds nothing for this session, and whether others may have been left something to do.
-- Locks: the caller holds the runs.
-- Idempotency: a report whose lease is gone is refused by the core and leaves nothing.
-- Raises: SW004 when the registry refuses for another reason.
create or replace function stepwell._report_completed(
    p_session_id bigint, p_tenant_ids int[], p_unit_ids bigint[], p_lease_nos int[], p_bodies text[], p_now timestamptz,
    p_class_ids int[], p_hand_on_limit int,
    out taken_ids bigint[], out handed_ids bigint[], out due_tenant_ids int[], out due_ids bigint[], out is_dry boolean,
    out leaves_more boolean
)
language plpgsql volatile
as $$
declare
    v_count constant int := cardinality(p_unit_ids);
    v_next record;
    v_done record;
begin
    v_next := stepwell._successors_find(p_session_id, p_tenant_ids, p_unit_ids, p_lease_nos, p_class_ids, p_hand_on_limit);
    -- What a contract, a slot or the engine itself set off may have ended any of the runs, or queued more.
    due_tenant_ids := p_tenant_ids;
    due_ids := p_unit_ids;
    is_dry := false;
    leaves_more := true;
    if v_next.has_contract then
        taken_ids := stepwell._report_contracts(p_session_id, p_tenant_ids, p_unit_ids, p_lease_nos, p_bodies, p_now);
        return;
    end if;
    v_done := stepwell._transition_apply(
        p_tenant_ids || v_next.tenant_ids, p_unit_ids || v_next.unit_ids,
        array_fill('completed'::text, array[v_count])
        || array_fill('ready'::text, array[coalesce(cardinality(v_next.unit_ids), 0)]),
        'executor_worker', 'rpc', 'step_complete',
        p_released_counts => array_fill(0, array[v_count]) || v_next.released_counts,
        p_session_id => p_session_id, p_lease_nos => p_lease_nos, p_engine_from => v_count + 1, p_now => p_now,
        p_hand_on_count => v_next.hand_on_count, p_hand_on_session_id => p_session_id);
    if v_done.applied_count <> coalesce(cardinality(v_next.held_ids), 0) + coalesce(cardinality(v_next.unit_ids), 0) then
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
    taken_ids := v_next.held_ids;
    handed_ids := v_done.handed_ids;
    if v_done.slot_ids is null and not coalesce(v_next.has_engine_steps, false) then
        due_tenant_ids := v_done.due_tenant_ids;
        due_ids := v_done.due_ids;
        is_dry := coalesce(v_next.queue_is_empty, false) and due_ids is null
            and coalesce(cardinality(handed_ids), 0) = v_next.hand_on_count;
        leaves_more := due_ids is not null or coalesce(v_next.has_foreign_steps, false);
    end if;
end
$$;
