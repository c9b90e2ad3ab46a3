-- Purpose: counts anew what steps that wait again wait for, and forgets their end.
-- Locks: the caller holds the run.
-- Idempotency: yes.
-- Raises: nothing.
create or replace function stepwell._pending_recount(p_tenant_id int, p_unit_ids bigint[]) returns void
language sql volatile
set search_path = stepwell, pg_temp
as $$
    update stepwell.work_unit as u set attempt_count = 0, completed_at = null, pending_count = (
        select count(*)
        from stepwell.workflow_step_relations as r
        inner join stepwell.work_unit as b on b.tenant_id = u.tenant_id and b.unit_id = u.unit_id + r.from_no - u.def_no
        where r.tenant_id = u.tenant_id and r.version_id = u.version_id and r.to_no = u.def_no
            and b.state_code not in ('completed', 'skipped'))
    where u.tenant_id = p_tenant_id and u.unit_id = any (p_unit_ids)
$$;
