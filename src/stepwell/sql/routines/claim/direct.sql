-- Direct lease: a released step is leased to the session whose report or start released it, without the queue. Here is
-- when that is allowed.

-- Whether a report or start may make direct leases, and what must not be overtaken by them. Not when another tenant has
-- something in the queue that the session could claim, this tenant has a cap or a hold, or the call is for several tenants. A
-- direct lease must come before the first unit in the queue that the session could claim: that unit is returned.
-- is_dry: the queue has nothing for this session. is_capped: a tenant of the call has a cap.
create or replace function stepwell._queue_look(
    p_tenant_ids int[], p_executor_class_ids int[], p_direct_limit int, p_handler_ids int[],
    out may_lease_directly boolean, out is_dry boolean, out rank int, out unit_id bigint, out is_capped boolean
)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    v_walked_count constant bigint := stepwell._walked_count();
    v_is_bound boolean;
begin
    select bool_or(t.max_concurrency is not null), bool_or(t.max_concurrency is not null or t.has_hold)
    into is_capped, v_is_bound
    from stepwell.tenant as t
    where t.tenant_id = any (p_tenant_ids);
    -- No row is found for a tenant that does not exist.
    may_lease_directly := not coalesce(v_is_bound, true) and p_direct_limit > 0 and p_tenant_ids[1] = all (p_tenant_ids);
    is_dry := may_lease_directly and stepwell._classes_are_empty(p_executor_class_ids);
    if stepwell._walked_far(v_walked_count) then
        perform stepwell._gaps_begin();
    end if;
    if is_dry or not may_lease_directly then
        -- Most calls of an idle system end here.
        return;
    end if;
    may_lease_directly := not stepwell._others_have_work(p_tenant_ids[1], p_executor_class_ids, p_handler_ids);
    select l.rank, l.unit_id into rank, unit_id
    from unnest(stepwell._lanes_from(p_executor_class_ids, p_handler_ids, p_tenant_ids[1], 0, -32768, 0, 32)) as l
    order by l.rank, l.unit_id limit 1;
    is_dry := may_lease_directly and unit_id is null;
end
$$;

-- Whether a tenant other than this one has something in the queue that a session could claim. Where many of them have
-- something, the answer is yes without a closer look.
create or replace function stepwell._others_have_work(p_tenant_id int, p_executor_class_ids int[], p_handler_ids int[])
returns boolean
language plpgsql volatile
as $$
declare
    v_turns constant stepwell.tenant_turn[] := stepwell._turns_find(p_executor_class_ids, 0, 0, 5);
begin
    if cardinality(v_turns) = 1 then
        return (v_turns[1]).tenant_id <> p_tenant_id
            and (p_handler_ids is null or stepwell._lanes_from(p_executor_class_ids, p_handler_ids, (v_turns[1]).tenant_id,
                (v_turns[1]).workspace_id, -32768, 0, 1) is not null);
    end if;
    return cardinality(v_turns) = 5 or exists (
        select from unnest(v_turns) as t
        where t.tenant_id <> p_tenant_id and (p_handler_ids is null or stepwell._lanes_from(
            p_executor_class_ids, p_handler_ids, t.tenant_id, t.workspace_id, -32768, 0, 1) is not null));
end
$$;
