-- Purpose: what follows from one state change made through the door: a settled step releases or aborts its
--   dependents, a ready machine step is queued, a unit that left the queue is taken out, an ended run hands on.
-- Locks: the caller holds the run.
-- Idempotency: follows one accepted change.
-- Raises: SW004 when the registry refuses a consequence.
create or replace function stepwell._after_transition(
    p_tenant_id int, p_unit_id bigint, p_from_state text, p_evidence jsonb
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_unit stepwell.work_unit;
begin
    select u.* into v_unit from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    if v_unit.state_code <> 'ready' then
        perform stepwell._units_dequeue(array[p_tenant_id], array[p_unit_id]);
    end if;
    if v_unit.scope not in ('step', 'task', 'job') then
        return;
    end if;
    if v_unit.state_code = 'completed' and p_evidence ? 'output' then
        insert into stepwell.unit_output (tenant_id, unit_id, lease_no, output, created_at)
        values (p_tenant_id, p_unit_id, v_unit.lease_no, p_evidence -> 'output', stepwell.now())
        on conflict (tenant_id, unit_id, lease_no) do nothing;
    end if;
    if v_unit.scope = 'task' then
        if v_unit.state_code = 'blocked' then
            perform stepwell._blocks_weigh(p_tenant_id, p_unit_id >> 20);
        end if;
        perform stepwell._people_timers(p_tenant_id, array[p_unit_id]);
        return;
    end if;
    if v_unit.state_code in ('completed', 'skipped', 'cannot_complete', 'cancelled') then
        perform stepwell._tasks_cancel(array[p_tenant_id], array[p_unit_id]);
    end if;
    if v_unit.state_code in ('completed', 'skipped') then
        perform stepwell._advance(array[p_tenant_id], array[p_unit_id]);
    elsif v_unit.state_code in ('cannot_complete', 'cancelled') then
        perform stepwell._dependents_abort(array[p_tenant_id], array[p_unit_id]);
    elsif v_unit.state_code = 'ready' then
        perform stepwell._slots_take(array[p_tenant_id], array[p_unit_id]);
        perform stepwell._workers_wake(array[v_unit.class_id]);
    end if;
    perform stepwell._runs_settle(array[p_tenant_id], array[p_unit_id]);
    if v_unit.scope = 'step' and not v_unit.state_code in ('completed', 'skipped', 'cannot_complete', 'cancelled') then
        perform stepwell._people_timers(p_tenant_id, array[p_unit_id]);
    end if;
end
$$;
