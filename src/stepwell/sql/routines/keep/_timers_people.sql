-- Purpose: due timers of people's work: blocked units that turn red, approvals that expire, people who are told.
-- Locks: the caller holds the runs.
-- Idempotency: a timer fires once.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._timers_people(p_timer_kind text, p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_due record;
begin
    if p_timer_kind = 'block_severity' then
        perform stepwell._blocks_weigh(r.tenant_id, r.run_id)
        from (
            select distinct q.tenant_id, q.unit_id >> 20 as run_id
            from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        ) as r;
    elsif p_timer_kind = 'approval_expiry' then
        perform stepwell._must_apply(p_tenant_ids, p_unit_ids, 'expired', 'system', 'timer', 'approval_expiry', 'engine');
        perform stepwell._approvals_close(p_tenant_ids, p_unit_ids, 'engine');
        perform stepwell._approval_settle(q.tenant_id, q.unit_id, 'engine')
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id);
    elsif p_timer_kind = 'escalation' then
        for v_due in
            select e.tenant_id, e.unit_id, e.level
            from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
            inner join stepwell.step_escalation as e on q.tenant_id = e.tenant_id and q.unit_id = e.unit_id
            where e.told_at is null and e.due_at <= stepwell.now()
            order by e.unit_id, e.level
        loop
            perform stepwell._escalation_tell(v_due.tenant_id, v_due.unit_id, v_due.level, 'engine', null);
            perform stepwell._people_timers(v_due.tenant_id, array[v_due.unit_id]);
        end loop;
    end if;
end
$$;
