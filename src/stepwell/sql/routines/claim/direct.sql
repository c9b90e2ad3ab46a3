-- When a released step may be leased directly to the session whose report or start released it.

-- Whether a report may hand on what it releases to its own session, and what must not be overtaken by that: not when
-- another tenant has something in the queue, this one has a cap or the report is of several tenants; and only what comes
-- before the first unit that the session could claim. Is_dry says that the queue holds nothing for it.
create or replace function stepwell._queue_look(
    p_tenant_ids int[], p_class_ids int[], p_hand_on_limit int, out may_hand_on boolean, out is_dry boolean,
    out rank smallint, out unit_id bigint
)
language plpgsql stable
as $$
#variable_conflict use_column
begin
    select t.max_concurrency is null and p_hand_on_limit > 0 and p_tenant_ids[1] = all (p_tenant_ids),
        not exists (select from stepwell.job_ready)
    into may_hand_on, is_dry
    from stepwell.tenant as t
    where t.tenant_id = p_tenant_ids[1];
    -- Nothing is found for a tenant that does not exist.
    may_hand_on := coalesce(may_hand_on, false);
    is_dry := may_hand_on and is_dry;
    if is_dry or not may_hand_on then
        -- Most calls of an idle system.
        return;
    end if;
    may_hand_on := not exists (select from stepwell.job_ready as r where r.tenant_id < p_tenant_ids[1])
        and not exists (select from stepwell.job_ready as r where r.tenant_id > p_tenant_ids[1]);
    select f.rank, f.unit_id into rank, unit_id
    from unnest(p_class_ids) as c (class_id)
    cross join lateral (
        select r.rank, r.unit_id from stepwell.job_ready as r
        where r.tenant_id = p_tenant_ids[1] and r.class_id = c.class_id
        order by r.rank, r.unit_id limit 1) as f
    order by f.rank, f.unit_id limit 1;
    is_dry := may_hand_on and unit_id is null;
end
$$;
