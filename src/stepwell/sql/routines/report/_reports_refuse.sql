-- Purpose: the rows that tell a worker which of its reports came too late.
-- Locks: none.
-- Idempotency: reads nothing, writes nothing.
-- Raises: nothing.
create or replace function stepwell._reports_refuse(
    p_tenant_ids int[], p_unit_ids bigint[], p_lease_nos int[], p_taken_ids bigint[]
) returns setof stepwell.job_lease
language sql stable
set search_path = stepwell, pg_temp
as $$
    select 'refused', q.tenant_id, q.unit_id, q.lease_no, null::bigint, null, null::int, null::int, null::real,
        null, null::jsonb, null::jsonb, null::jsonb, null::jsonb, null, null, null::timestamptz
    from unnest(p_tenant_ids, p_unit_ids, p_lease_nos) as q (tenant_id, unit_id, lease_no)
    where not q.unit_id = any (coalesce(p_taken_ids, '{}'))
$$;
