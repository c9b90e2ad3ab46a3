-- Purpose: units past their deadline: one in progress becomes overdue; any other only gets its first mark, which
--   governance counts.
-- Locks: the caller holds the runs.
-- Idempotency: the first mark stays.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._units_overdue(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_late record;
begin
    update stepwell.work_unit as u set overdue_first_at = coalesce(u.overdue_first_at, u.deadline_at)
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    where u.tenant_id = q.tenant_id and u.unit_id = q.unit_id and u.state_code <> 'in_progress' and u.completed_at is null;
    select array_agg(u.tenant_id order by u.unit_id) as tenant_ids, array_agg(u.unit_id order by u.unit_id) as unit_ids
    into v_late
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where u.state_code = 'in_progress';
    perform stepwell._must_apply(v_late.tenant_ids, v_late.unit_ids, 'overdue', 'system', 'timer', 'deadline_passed', 'engine');
end
$$;
