-- Purpose: cancels every unit of a cancelled run that has not ended, and the runs of its sub-workflows.
-- Locks: the caller holds the run; each child run is locked before it is cleared.
-- Idempotency: units already settled are passed over.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._run_clear(p_tenant_id int, p_run_id bigint, p_actor text, p_reason text) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_open record;
    v_slot_ids bigint[];
begin
    select array_agg(u.tenant_id order by u.unit_id) as tenant_ids, array_agg(u.unit_id order by u.unit_id) as unit_ids
    into v_open
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id between (p_run_id << 20) + 1 and ((p_run_id + 1) << 20) - 1
        and u.state_code not in ('completed', 'skipped', 'cancelled', 'cannot_complete');
    if v_open.unit_ids is not null then
        perform stepwell._units_dequeue(v_open.tenant_ids, v_open.unit_ids);
        -- Asked now and not before: a claim may have been on its way, and what it got holds a slot.
        select array_agg(u.unit_id) into v_slot_ids
        from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id = any (v_open.unit_ids)
            and u.lease_session_id is not null and u.slot_key is not null;
        perform stepwell._must_apply(v_open.tenant_ids, v_open.unit_ids, 'cancelled', 'system', 'rpc', 'workflow_cancel',
            p_actor, null, array_fill(jsonb_build_object('reason', coalesce(p_reason, 'run cancelled')),
                array[cardinality(v_open.unit_ids)]));
        if v_slot_ids is not null then
            perform stepwell._slots_free(array_fill(p_tenant_id, array[cardinality(v_slot_ids)]), v_slot_ids);
        end if;
    end if;
    perform stepwell._runs_finish(array[p_tenant_id], array[p_run_id], 'cancelled');
    -- Corrections that were under way end with it, and so do questions to reviewers.
    perform stepwell._attention_settle(p.tenant_id, p.run_id)
    from stepwell.run_progress as p
    where p.tenant_id = p_tenant_id and p.run_id = p_run_id and p.needs_attention;
    perform stepwell._subruns_cancel(p_tenant_id, v_open.unit_ids, p_actor, p_reason);
end
$$;
