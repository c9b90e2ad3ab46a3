-- Purpose: due timers of people's work: blocked units that turn red, approvals that expire, escalations.
-- Locks: the caller holds the runs.
-- Idempotency: a timer fires once.
-- Raises: nothing.
create or replace function stepwell._timers_people(p_timer_kind text, p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    if p_timer_kind = 'block_severity' then
        update stepwell.work_unit as u set blocked_escalated = true
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        where u.tenant_id = q.tenant_id and u.unit_id = q.unit_id and u.state_code = 'blocked';
    end if;
end
$$;
