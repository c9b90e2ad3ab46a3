-- Purpose: what else changes with the steps that a correction opened: steps called off because of them wait again, items that
--   a failed map had given up begin, and what has not begun waits for the opened ones.
-- Locks: the caller holds the runs.
-- Idempotency: yes.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._correction_rest(
    p_tenant_id int, p_failed_ids bigint[], p_open_ids bigint[], p_actor text, p_evidence jsonb
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_unit_id bigint;
begin
    foreach v_unit_id in array p_failed_ids loop
        perform stepwell._dependents_reinstate(p_tenant_id, array[v_unit_id], p_actor, p_evidence);
    end loop;
    perform stepwell._pending_recount(p_tenant_id, array_agg(s.unit_id))
    from stepwell.work_unit as u
    inner join stepwell.workflow_step_relations as r
        on u.tenant_id = r.tenant_id and u.version_id = r.version_id and u.def_no = r.from_no
    inner join stepwell.work_unit as s on s.tenant_id = u.tenant_id and s.unit_id = u.unit_id + r.to_no - u.def_no
    where u.tenant_id = p_tenant_id and u.unit_id = any (p_open_ids) and s.state_code = 'not_started';
    perform stepwell._items_release(p_tenant_id, p_failed_ids);
end
$$;
