-- Units leave the queue. Tenants take turns by weight; within a turn the higher priority comes first, whatever its
-- operation and executor class, then the older unit. A session is given only what it serves.

-- Takes up to n rows out of job_ready. Turns are shared by weight, exactly where all that have something fit into one
-- window, else from window to window. What a turn does not use goes to the others.
-- Locks: tenants with a cap, in order; the rows taken and the runs of retries, as _lane_take.
create or replace function stepwell._ready_take(
    p_executor_class_ids int[], p_handler_ids int[], p_limit int, out tenant_ids int[], out unit_ids bigint[], out retry_ids bigint[]
)
language plpgsql volatile
as $$
declare
    v_taken record;
    v_window constant int := 32;
    v_turns stepwell.tenant_turn[];
    v_left_count int := p_limit;
    v_got_count int;
    v_cursor bigint;
    v_quota int;
begin
    if current_setting('stepwell.gaps', true) = 'on' then
        perform stepwell._gaps_refresh();
    end if;
    v_turns := stepwell._turns_find(p_executor_class_ids, 0, 0, v_window + 1);
    if v_turns is null then
        -- Most claims of an idle system end here.
        return;
    end if;
    if cardinality(v_turns) <= v_window then
        v_taken := stepwell._turns_take(v_turns, p_executor_class_ids, p_handler_ids, v_left_count, true);
        tenant_ids := v_taken.tenant_ids;
        unit_ids := v_taken.unit_ids;
        retry_ids := v_taken.retry_ids;
        return;
    end if;
    -- More turns than one look can share out exactly. They are served in windows, one after the other; each is served
    -- as much as its weight says before the next one comes. The place is kept in a sequence, which leaves no dead rows
    -- behind: the tenant before the window, and how much the window was given already.
    for v_no in 1 .. 16 loop
        select s.last_value into v_cursor from stepwell.claim_window_seq as s;
        v_turns := stepwell._turns_find(p_executor_class_ids, (v_cursor >> 20)::int, 2147483647, v_window);
        v_quota := greatest(stepwell._turns_quota(v_turns, v_window) - (v_cursor & 1048575)::int, 0);
        v_got_count := 0;
        if v_turns is not null and v_quota > 0 then
            v_taken := stepwell._turns_take(v_turns, p_executor_class_ids, p_handler_ids, least(v_left_count, v_quota),
                v_no = 1);
            v_got_count := coalesce(cardinality(v_taken.unit_ids), 0);
            tenant_ids := tenant_ids || v_taken.tenant_ids;
            unit_ids := unit_ids || v_taken.unit_ids;
            retry_ids := retry_ids || v_taken.retry_ids;
        end if;
        if v_got_count > 0 and v_got_count < v_quota and v_got_count = v_left_count then
            perform setval('stepwell.claim_window_seq', v_cursor + v_got_count);
        else
            -- Served, or nothing more for this session in it: the next one, and after the last the first.
            perform setval('stepwell.claim_window_seq', case when cardinality(v_turns) = v_window
                then (v_turns[v_window]).tenant_id::bigint << 20 else 0 end);
        end if;
        v_left_count := v_left_count - v_got_count;
        exit when v_left_count <= 0;
    end loop;
end
$$;

-- The turns (tenant and workspace) after this one that have something of these classes, in order, up to n of them. A loop,
-- because most systems have one turn, and a statement for many costs more than one look.
create or replace function stepwell._turns_find(p_executor_class_ids int[], p_tenant_id int, p_workspace_id int, p_count int)
returns stepwell.tenant_turn[]
language plpgsql volatile
as $$
declare
    v_lane record;
    v_tenant_ids int[];
    v_workspace_ids int[];
begin
    for v_class_no in 1 .. cardinality(p_executor_class_ids) loop
        v_lane := stepwell._lane_next(p_executor_class_ids[v_class_no], p_tenant_id, p_workspace_id, 32767, 2147483647);
        for v_turn_no in 1 .. p_count loop
            exit when v_lane.tenant_id is null;
            v_tenant_ids := v_tenant_ids || v_lane.tenant_id;
            v_workspace_ids := v_workspace_ids || v_lane.workspace_id;
            v_lane := stepwell._lane_next(
                p_executor_class_ids[v_class_no], v_lane.tenant_id, v_lane.workspace_id, 32767, 2147483647);
        end loop;
    end loop;
    if v_tenant_ids is null then
        return null;
    end if;
    if cardinality(v_tenant_ids) = 1 then
        return (select array[row(t.tenant_id, v_workspace_ids[1], t.weight, t.max_concurrency, t.has_hold)::stepwell.tenant_turn]
            from stepwell.tenant as t where t.tenant_id = v_tenant_ids[1]);
    end if;
    return (
        select array_agg(row(f.tenant_id, f.workspace_id, t.weight / f.workspace_count, t.max_concurrency, t.has_hold)::stepwell.tenant_turn
            order by f.tenant_id, f.workspace_id)
        from (
            select f.tenant_id, f.workspace_id, count(*) over (partition by f.tenant_id)::double precision as workspace_count
            from (
                select distinct q.tenant_id, q.workspace_id
                from unnest(v_tenant_ids, v_workspace_ids) as q (tenant_id, workspace_id)
                order by q.tenant_id, q.workspace_id
                limit p_count
            ) as f
        ) as f
        inner join stepwell.tenant as t on f.tenant_id = t.tenant_id
    );
end
$$;

-- How much a window is given before the next one comes: its weight, in a unit in which a full window of the heaviest
-- tenants would be given one unit for each of them.
create or replace function stepwell._turns_quota(p_turns stepwell.tenant_turn[], p_window int) returns int
language sql stable
set search_path = stepwell, pg_temp
as $$
    select ceil(sum(t.weight) * p_window / (select n.weight from stepwell.tenant as n order by n.weight desc limit 1))::int
    from unnest(p_turns) as t
$$;

-- Takes up to n rows for these turns. Each is given its share by weight; a share that is not used goes to the others.
-- The shares add up to n: the weights are laid end to end, and the n marks on them move on with each claim by the golden
-- ratio. So also claims of one are spread by weight, over time, and nothing has to be kept but a number.
-- Locks: tenants with a cap, in order, waiting only when p_may_wait; the rest as _lane_take.
create or replace function stepwell._turns_take(
    p_turns stepwell.tenant_turn[], p_executor_class_ids int[], p_handler_ids int[], p_limit int, p_may_wait boolean,
    out tenant_ids int[], out unit_ids bigint[], out retry_ids bigint[]
)
language plpgsql volatile
as $$
declare
    v_taken record;
    v_open int[];
    v_still int[];
    v_rooms int[];
    v_turn record;
    v_left_count int := p_limit;
    v_got_count int;
    v_may_wait boolean := p_may_wait;
begin
    if cardinality(p_turns) = 1 and (p_turns[1]).max_concurrency is null and not (p_turns[1]).has_hold then
        v_taken := stepwell._turn_take(p_executor_class_ids, p_handler_ids, (p_turns[1]).tenant_id, (p_turns[1]).workspace_id, p_limit);
        tenant_ids := array_fill((p_turns[1]).tenant_id, array[coalesce(cardinality(v_taken.unit_ids), 0)]);
        unit_ids := v_taken.unit_ids;
        retry_ids := v_taken.retry_ids;
        return;
    end if;
    v_open := array(select generate_series(1, cardinality(p_turns)));
    while v_left_count > 0 and v_open <> '{}' loop
        v_still := '{}';
        for v_turn in
            select s.turn_no, (p_turns[s.turn_no]).*, s.share
            from stepwell._shares_of(p_turns, v_open, v_left_count) as s (turn_no, share)
            order by s.turn_no
        loop
            if v_turn.share > 0 and v_turn.max_concurrency is not null then
                if v_rooms[v_turn.turn_no] is null then
                    -- Only the first round goes in the order of the tenants, so only there it may wait.
                    v_rooms[v_turn.turn_no] := stepwell._tenant_room(v_turn.tenant_id, v_turn.max_concurrency, v_may_wait);
                end if;
                v_turn.share := least(v_turn.share, v_rooms[v_turn.turn_no]);
                continue when v_turn.share = 0;
            end if;
            v_got_count := 0;
            if v_turn.share > 0 then
                if v_turn.has_hold then
                    v_taken := stepwell._turn_take_free(
                        p_executor_class_ids, p_handler_ids, v_turn.tenant_id, v_turn.workspace_id, v_turn.share);
                else
                    v_taken := stepwell._turn_take(
                        p_executor_class_ids, p_handler_ids, v_turn.tenant_id, v_turn.workspace_id, v_turn.share);
                end if;
                v_got_count := coalesce(cardinality(v_taken.unit_ids), 0);
                tenant_ids := tenant_ids || array_fill(v_turn.tenant_id, array[v_got_count]);
                unit_ids := unit_ids || v_taken.unit_ids;
                retry_ids := retry_ids || v_taken.retry_ids;
                v_left_count := v_left_count - v_got_count;
                if v_turn.max_concurrency is not null then
                    v_rooms[v_turn.turn_no] := v_rooms[v_turn.turn_no] - v_got_count;
                end if;
            end if;
            if v_got_count = v_turn.share then
                v_still := v_still || v_turn.turn_no;
            end if;
        end loop;
        v_open := v_still;
        v_may_wait := false;
    end loop;
end
$$;

-- The shares of n among the open turns.
create or replace function stepwell._shares_of(p_turns stepwell.tenant_turn[], p_open int[], p_limit int)
returns table (turn_no int, share int)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    v_phase double precision;
begin
    if cardinality(p_open) = 1 then
        return query select p_open[1], p_limit;
        return;
    end if;
    v_phase := nextval('stepwell.claim_turn_seq') * 0.6180339887498949::double precision;
    v_phase := v_phase - floor(v_phase);
    return query
    select w.turn_no, (floor(p_limit * w.upto / w.total + v_phase)
        - floor(p_limit * coalesce(lag(w.upto) over (order by w.turn_no), 0) / w.total + v_phase))::int
    from (
        select o.turn_no, t.weight, sum(t.weight) over (order by o.turn_no) as upto, sum(t.weight) over () as total
        from unnest(p_open) as o (turn_no)
        cross join lateral (select (p_turns[o.turn_no]).weight) as t
    ) as w;
end
$$;

-- Takes up to n rows of the turn of a tenant that has a hold: what a hold stops leaves the queue too, and waits beside it; the
-- look goes on behind it, 200 times at most.
-- Locks: as _turn_take.
create or replace function stepwell._turn_take_free(
    p_executor_class_ids int[], p_handler_ids int[], p_tenant_id int, p_workspace_id int, p_limit int,
    out unit_ids bigint[], out retry_ids bigint[]
)
language plpgsql volatile
as $$
declare
    v_taken record;
    v_held_ids bigint[];
begin
    for v_round_no in 1 .. 200 loop
        v_taken := stepwell._turn_take(p_executor_class_ids, p_handler_ids, p_tenant_id, p_workspace_id,
            p_limit - coalesce(cardinality(unit_ids), 0));
        exit when coalesce(cardinality(v_taken.unit_ids), 0) = 0;
        v_held_ids := stepwell._held_put(p_tenant_id, v_taken.unit_ids, v_taken.retry_ids);
        unit_ids := unit_ids || array(select q from unnest(v_taken.unit_ids) as q where q <> all (v_held_ids));
        retry_ids := retry_ids || (select array_agg(q) from unnest(v_taken.retry_ids) as q where q <> all (v_held_ids));
        exit when cardinality(v_held_ids) = 0 or cardinality(unit_ids) >= p_limit;
    end loop;
    unit_ids := nullif(unit_ids, '{}');
end
$$;

-- Takes up to n rows of one turn: rank by rank, and within a rank from all lanes that the session serves, the lane with
-- the oldest head first.
-- Locks: as _lane_take.
create or replace function stepwell._turn_take(
    p_executor_class_ids int[], p_handler_ids int[], p_tenant_id int, p_workspace_id int, p_limit int,
    out unit_ids bigint[], out retry_ids bigint[]
)
language plpgsql volatile
as $$
declare
    v_lanes constant stepwell.ready_lane[] := stepwell._lanes_find(p_executor_class_ids, p_handler_ids, p_tenant_id, p_workspace_id);
    v_taken record;
    v_rank record;
    v_open stepwell.ready_lane[];
    v_still stepwell.ready_lane[];
    v_left_count int := p_limit;
    v_want_count int;
begin
    if cardinality(v_lanes) = 1 then
        v_taken := stepwell._lane_take(p_tenant_id, p_workspace_id, v_lanes[1], p_limit);
        unit_ids := v_taken.unit_ids;
        retry_ids := v_taken.retry_ids;
        return;
    end if;
    for v_rank in
        select array_agg(l order by l.unit_id) as lanes from unnest(v_lanes) as l group by l.rank order by l.rank
    loop
        v_open := v_rank.lanes;
        while v_open <> '{}' loop
            v_still := '{}';
            for v_lane_no in 1 .. cardinality(v_open) loop
                v_want_count := (v_left_count + cardinality(v_open) - v_lane_no) / (cardinality(v_open) + 1 - v_lane_no);
                v_taken := stepwell._lane_take(p_tenant_id, p_workspace_id, v_open[v_lane_no], v_want_count);
                unit_ids := unit_ids || v_taken.unit_ids;
                retry_ids := retry_ids || v_taken.retry_ids;
                v_left_count := p_limit - coalesce(cardinality(unit_ids), 0);
                if v_left_count = 0 then
                    return;
                end if;
                if cardinality(v_taken.unit_ids) = v_want_count then
                    v_still := v_still || v_open[v_lane_no];
                end if;
            end loop;
            v_open := v_still;
        end loop;
    end loop;
end
$$;
