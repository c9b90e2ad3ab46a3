-- Direct lease: a released step is leased to the session whose report or start released it, without the queue. Here is
-- when that is allowed.

-- Whether a report or start may make direct leases, and what must not be overtaken by them. Not when another tenant has
-- something in the queue, this tenant has a cap, or the call is for several tenants. A direct lease must come before
-- the first unit in the queue that the session could claim: that unit is returned. is_dry: the queue has nothing for
-- this session. is_capped: a tenant of the call has a cap.
create or replace function stepwell._queue_look(
    p_tenant_ids int[], p_executor_class_ids int[], p_direct_limit int, out may_lease_directly boolean, out is_dry boolean,
    out rank smallint, out unit_id bigint, out is_capped boolean
)
language plpgsql stable
as $$
#variable_conflict use_column
begin
    select bool_or(t.max_concurrency is not null), not exists (select from stepwell.job_ready)
    into is_capped, is_dry
    from stepwell.tenant as t
    where t.tenant_id = any (p_tenant_ids);
    -- No row is found for a tenant that does not exist.
    may_lease_directly := not coalesce(is_capped, true) and p_direct_limit > 0 and p_tenant_ids[1] = all (p_tenant_ids);
    is_dry := may_lease_directly and is_dry;
    if is_dry or not may_lease_directly then
        -- Most calls of an idle system end here.
        return;
    end if;
    may_lease_directly := not exists (select from stepwell.job_ready as r where r.tenant_id < p_tenant_ids[1])
        and not exists (select from stepwell.job_ready as r where r.tenant_id > p_tenant_ids[1]);
    select f.rank, f.unit_id into rank, unit_id
    from unnest(p_executor_class_ids) as c (executor_class_id)
    cross join lateral (
        select r.rank, r.unit_id from stepwell.job_ready as r
        where r.tenant_id = p_tenant_ids[1] and r.executor_class_id = c.executor_class_id
        order by r.rank, r.unit_id limit 1) as f
    order by f.rank, f.unit_id limit 1;
    is_dry := may_lease_directly and unit_id is null;
end
$$;
