-- Purpose: takes units out of everything that could still start or wake them: queue, line, timers, waits, approvals.
-- Locks: their job_ready rows (waits for a claim in flight), then slots, then approvals.
-- Idempotency: yes.
-- Raises: nothing.
create or replace function stepwell._units_dequeue(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_slot record;
begin
    with gone as (
        delete from stepwell.job_ready as r
        using unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        where r.tenant_id = u.tenant_id and r.class_id = u.class_id and r.rank = -u.priority and r.unit_id = u.unit_id
        returning r.tenant_id, r.unit_id, u.slot_key
    )
    select array_agg(g.tenant_id) as tenant_ids, array_agg(g.unit_id) as unit_ids
    into v_slot
    from gone as g
    where g.slot_key is not null;
    delete from stepwell.job_line as l
    using unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where l.tenant_id = u.tenant_id and l.slot_key = u.slot_key and l.rank = -u.priority and l.unit_id = u.unit_id;
    if v_slot.unit_ids is not null then
        perform stepwell._slots_free(v_slot.tenant_ids, v_slot.unit_ids);
    end if;
    delete from stepwell.timer as t
    using unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    where t.tenant_id = q.tenant_id and t.unit_id = q.unit_id;
    delete from stepwell.event_wait as w
    using unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    where w.tenant_id = q.tenant_id and w.unit_id = q.unit_id;
    perform stepwell._approvals_cancel(p_tenant_ids, p_unit_ids);
end
$$;
