-- Purpose: remembers what tenants with a cap now have in hand.
-- Locks: the caller holds those tenants.
-- Idempotency: the newest lease of a unit counts.
-- Raises: nothing.
create or replace function stepwell._tenant_leases_note(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    if exists (select from stepwell.tenant as t where t.tenant_id = any (p_tenant_ids) and t.max_concurrency is not null) then
        insert into stepwell.tenant_lease as l (tenant_id, unit_id, lease_no)
        select u.tenant_id, u.unit_id, u.lease_no
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.tenant as t on q.tenant_id = t.tenant_id and t.max_concurrency is not null
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        on conflict (tenant_id, unit_id) do update set lease_no = excluded.lease_no;
    end if;
end
$$;
