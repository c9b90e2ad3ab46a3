-- Purpose: decisions right after these units, which are open again, had counted their failure as an end: they count anew.
-- Locks: the caller holds the run.
-- Idempotency: yes.
-- Raises: nothing.
create or replace function stepwell._decisions_recount(p_tenant_id int, p_unit_ids bigint[]) returns void
language sql volatile
set search_path = stepwell, pg_temp
as $$
    update stepwell.work_unit as u set pending_count = (
        select count(*)
        from stepwell.workflow_step_relations as r
        inner join stepwell.work_unit as b on b.tenant_id = u.tenant_id and b.unit_id = u.unit_id + r.from_no - u.def_no
        where r.tenant_id = u.tenant_id and r.version_id = u.version_id and r.to_no = u.def_no
            and b.state_code not in ('completed', 'skipped', 'cancelled', 'cannot_complete'))
    where u.tenant_id = p_tenant_id and u.state_code = 'not_started' and u.unit_id in (
        select o.unit_id + r.to_no - o.def_no
        from stepwell.work_unit as o
        inner join stepwell.workflow_step_relations as r
            on o.tenant_id = r.tenant_id and o.version_id = r.version_id and o.def_no = r.from_no
        inner join stepwell.workflow_step_def as d
            on r.tenant_id = d.tenant_id and r.version_id = d.version_id and r.to_no = d.step_no
        where o.tenant_id = p_tenant_id and o.unit_id = any (p_unit_ids) and d.step_kind = 'decision')
$$;
