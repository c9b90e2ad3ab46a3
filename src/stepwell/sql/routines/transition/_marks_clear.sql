-- Purpose: wipes off what belonged to the state a unit has left: that its block counts as red, the colour its run lent it, that
--   its failure was caught. The core counts by these marks, so it leaves them standing until it has counted.
-- Locks: the units, which the caller has changed.
-- Idempotency: yes.
-- Raises: nothing.
create or replace function stepwell._marks_clear(p_changes stepwell.unit_change[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    update stepwell.work_unit as u set blocked_escalated = false, lent_class = null, failure_caught = false
    from unnest(p_changes) as c
    where c.is_marked and u.tenant_id = c.tenant_id and u.unit_id = c.unit_id;
end
$$;
