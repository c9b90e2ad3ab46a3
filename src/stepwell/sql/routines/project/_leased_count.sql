-- Purpose: how many units of a tenant and class are being worked on. Read from the claims of open sessions, which are
--   few, and not from the units, which are many; as owner, because a claim may hold units of several tenants.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._leased_count(p_tenant_id int, p_class_id int) returns bigint
language sql stable security definer
set search_path = stepwell, pg_temp
as $$
    select count(distinct u.unit_id)
    from stepwell.worker_session as s
    inner join stepwell.worker_lease as l on s.session_id = l.session_id
    cross join lateral unnest(l.tenant_ids, l.unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where s.closed_at is null and q.tenant_id = p_tenant_id
        and u.lease_session_id = s.session_id and u.class_id = p_class_id
$$;
