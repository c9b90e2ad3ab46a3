-- Purpose: _advance for callers that know only the units.
-- Locks: the caller holds the runs.
-- Idempotency: each settled step is handed in once.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._advance_units(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language sql volatile
set search_path = stepwell, pg_temp
as $$
    select stepwell._advance(array_agg(u.tenant_id), array_agg(u.unit_id), array_agg(u.version_id), array_agg(u.def_no))
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where u.scope = 'step'
$$;
