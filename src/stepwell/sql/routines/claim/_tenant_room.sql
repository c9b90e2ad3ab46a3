-- Purpose: how many more units a tenant with a cap may have in hand. Leases that have ended are cleared on the way.
-- Locks: the tenant's row: claims for it are counted one after the other. Whoever holds it waits for nothing more.
-- Idempotency: counting twice gives the same.
-- Raises: nothing.
create or replace function stepwell._tenant_room(p_tenant_id int, p_max_concurrency int) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_held_count int;
begin
    perform from stepwell.tenant as t where t.tenant_id = p_tenant_id for update;
    delete from stepwell.tenant_lease as l
    where l.tenant_id = p_tenant_id and not exists (
        select from stepwell.work_unit as u
        where u.tenant_id = l.tenant_id and u.unit_id = l.unit_id and u.lease_no = l.lease_no
            and u.lease_session_id is not null);
    select count(*) into v_held_count from stepwell.tenant_lease as l where l.tenant_id = p_tenant_id;
    return greatest(p_max_concurrency - v_held_count, 0);
end
$$;
