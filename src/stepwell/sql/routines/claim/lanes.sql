-- The lanes of one tenant and workspace: which of them a session may claim, and how rows are taken out of one.

-- The lanes of a turn that a session serves and that have something, by rank, up to 32. Where more operations than that
-- have something at the highest priority, each look begins at another of them. Here is the one place that decides what
-- a session may claim of a tenant: whatever else holds a lane back is looked up here.
create or replace function stepwell._lanes_find(p_executor_class_ids int[], p_handler_ids int[], p_tenant_id int, p_workspace_id int)
returns stepwell.ready_lane[]
language plpgsql volatile
as $$
declare
    v_limit constant int := 32;
    v_lanes stepwell.ready_lane[] := stepwell._lanes_from(p_executor_class_ids, p_handler_ids, p_tenant_id, p_workspace_id, -32768, 0, v_limit);
    v_start int;
begin
    if cardinality(v_lanes) = v_limit and (v_lanes[v_limit]).rank = (v_lanes[1]).rank then
        select floor(o.least_id + (o.most_id - o.least_id + 1) * random())::int into v_start
        from (select min(p.operation_id) as least_id, max(p.operation_id) as most_id
            from stepwell.operation as p where p.tenant_id = p_tenant_id) as o;
        v_lanes := stepwell._lanes_from(p_executor_class_ids, p_handler_ids, p_tenant_id, p_workspace_id,
            (v_lanes[1]).rank, v_start - 1, v_limit) || v_lanes;
        return array(
            select row(l.executor_class_id, l.rank, l.operation_id, l.unit_id)::stepwell.ready_lane
            from (
                select distinct on (q.executor_class_id, q.rank, q.operation_id) q.*
                from unnest(v_lanes) with ordinality as q (executor_class_id, rank, operation_id, unit_id, no)
                order by q.executor_class_id, q.rank, q.operation_id, q.no
            ) as l
            order by l.no limit v_limit);
    end if;
    return v_lanes;
end
$$;

-- Up to n lanes of a turn that a session serves, after this one, in the order of rank and operation.
create or replace function stepwell._lanes_from(
    p_executor_class_ids int[], p_handler_ids int[], p_tenant_id int, p_workspace_id int, p_rank int, p_operation_id int, p_count int
) returns stepwell.ready_lane[]
language plpgsql volatile
as $$
declare
    v_lane record;
    v_lanes stepwell.ready_lane[];
    v_found_count int;
begin
    for v_class_no in 1 .. cardinality(p_executor_class_ids) loop
        v_found_count := 0;
        v_lane := stepwell._lane_next(p_executor_class_ids[v_class_no], p_tenant_id, p_workspace_id, p_rank, p_operation_id);
        while v_found_count < p_count and v_lane.tenant_id = p_tenant_id and v_lane.workspace_id = p_workspace_id loop
            if p_handler_ids is null or stepwell._lane_is_served(p_tenant_id, v_lane.operation_id, p_handler_ids) then
                v_found_count := v_found_count + 1;
                v_lanes := v_lanes || row(p_executor_class_ids[v_class_no], v_lane.rank, v_lane.operation_id, v_lane.unit_id)::stepwell.ready_lane;
            end if;
            v_lane := stepwell._lane_next(
                p_executor_class_ids[v_class_no], p_tenant_id, p_workspace_id, v_lane.rank, v_lane.operation_id);
        end loop;
    end loop;
    if cardinality(p_executor_class_ids) = 1 or v_lanes is null then
        return v_lanes;
    end if;
    return array(select l from unnest(v_lanes) as l order by l.rank, l.operation_id limit p_count);
end
$$;

-- Whether a session has the handler of an operation; a session that did not say which it has is given everything.
create or replace function stepwell._lane_is_served(p_tenant_id int, p_operation_id int, p_handler_ids int[]) returns boolean
language plpgsql stable
as $$
begin
    return p_handler_ids is null or exists (
        select from stepwell.operation as o
        where o.tenant_id = p_tenant_id and o.operation_id = p_operation_id and o.handler_id = any (p_handler_ids));
end
$$;

-- Takes up to n rows out of a lane, the older unit first. A retry counts in its run, so its run is locked with it; where
-- the run is busy the retry stays in the queue and the look goes on behind it, 200 times at most.
-- Locks: the rows taken, without those that another claim holds; the runs of retries, without waiting, because a session that
--   holds a run may wait for a row taken here.
create or replace function stepwell._lane_take(
    p_tenant_id int, p_workspace_id int, p_lane stepwell.ready_lane, p_limit int, out unit_ids bigint[], out retry_ids bigint[]
)
language plpgsql volatile
as $$
declare
    -- What came into the lane before its head since it was found waits for the next claim.
    v_after_id bigint := p_lane.unit_id - 1;
    v_upto_id bigint := 9223372036854775807;
    v_left_count int := p_limit;
    v_look record;
    v_knows_gaps constant boolean := coalesce(current_setting('stepwell.gaps', true) = 'on', false);
begin
    for v_round_no in 1 .. 200 loop
        if v_knows_gaps then
            v_upto_id := stepwell._gap_next(p_lane.executor_class_id, row(
                p_tenant_id, p_workspace_id, p_lane.rank, p_lane.operation_id, v_after_id)::stepwell.queue_place);
        end if;
        with picked as materialized (
            select r.ctid as row_id, r.unit_id, r.is_retry and stepwell._unit_no(r.unit_id) <> 0 as in_run
            from stepwell.job_ready as r
            where r.executor_class_id = p_lane.executor_class_id and r.tenant_id = p_tenant_id and r.workspace_id = p_workspace_id
                and r.rank = p_lane.rank and r.operation_id = p_lane.operation_id and r.unit_id > v_after_id
                and r.unit_id < v_upto_id
            order by r.unit_id
            limit v_left_count
            for update skip locked
        ), held as materialized (
            select p.row_id
            from picked as p
            -- Each run by itself: in a join, a plan for young tables reads all runs of the tenant for each retry.
            cross join lateral (
                select from stepwell.run_progress as b
                where b.tenant_id = p_tenant_id and b.run_id = stepwell._run_of(p.unit_id)
                for update skip locked
            ) as b
            where p.in_run
        ), gone as (
            delete from stepwell.job_ready as r
            where r.ctid = any (array(select p.row_id from picked as p where not p.in_run union all select h.row_id from held as h))
            returning r.unit_id, r.is_retry
        )
        select g.unit_ids, g.retry_ids, g.gone_count, p.picked_count, p.last_id
        into v_look
        from (
            select array_agg(g.unit_id) as unit_ids, array_agg(g.unit_id) filter (where g.is_retry) as retry_ids,
                count(*)::int as gone_count
            from gone as g
        ) as g
        cross join (select count(*)::int as picked_count, max(p.unit_id) as last_id from picked as p) as p;
        unit_ids := unit_ids || v_look.unit_ids;
        retry_ids := retry_ids || v_look.retry_ids;
        v_left_count := v_left_count - v_look.gone_count;
        if v_look.picked_count > v_look.gone_count then
            v_after_id := v_look.last_id;
        else
            exit when v_left_count = 0 or not v_knows_gaps;
            v_after_id := stepwell._lane_skip(p_tenant_id, p_workspace_id, p_lane, greatest(v_look.last_id, v_after_id), v_upto_id);
            exit when v_after_id is null;
        end if;
    end loop;
end
$$;

-- Where a lane goes on behind a gap, as the number before its next unit; null when it does not. At the end of a lane it is
-- only noted that nothing is there.
create or replace function stepwell._lane_skip(
    p_tenant_id int, p_workspace_id int, p_lane stepwell.ready_lane, p_last_id bigint, p_upto_id bigint
) returns bigint
language plpgsql volatile
as $$
declare
    v_is_at_end constant boolean := p_upto_id = 9223372036854775807;
    v_place stepwell.queue_place := row(p_tenant_id, p_workspace_id, p_lane.rank, p_lane.operation_id,
        case when v_is_at_end then p_last_id + 1 else p_upto_id end);
    v_next constant stepwell.queue_place := stepwell._place_next(p_lane.executor_class_id, v_place);
begin
    return case when not v_is_at_end and stepwell._is_same_lane(v_next, v_place) then v_next.unit_id - 1 end;
end
$$;
