-- Which chain of steps decides when a run ends, and which steps cannot start because of a blocked one.

-- The critical path of a run: the longest chain of dependencies to the earliest mandatory step that has not ended, in
-- order. It reads the edges once, so 2,000 steps cost milliseconds.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when there is no such run; SW007 when the caller may not read, or for another tenant.
create or replace function stepwell.fn_run_critical_path(p_tenant_id int, p_run_id bigint)
returns table (place int, unit_id bigint, step_id text, state_code text)
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_hidden constant bigint[] := stepwell.hidden_steps();
begin
    perform stepwell._verb_check(p_tenant_id, 'read');
    return query select c.place, c.unit_id, c.step_id, c.state_code from stepwell._critical_path(p_tenant_id, p_run_id) as c
        where v_hidden = '{}' or stepwell.unit_is_shown(p_tenant_id, c.unit_id, v_hidden);
end
$$;

-- The same for the engine itself: what a caller without `read` does still depends on the path.
-- Raises: SW002 when there is no such run.
create or replace function stepwell._critical_path(p_tenant_id int, p_run_id bigint)
returns table (place int, unit_id bigint, step_id text, state_code text)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_version_id int;
    v_goal int;
    v_length int[];
    v_before int[];
    v_edge record;
    v_path int[] := '{}'::int[];
begin
    select u.version_id into v_version_id from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = stepwell._run_unit(p_run_id) and u.scope = 'workflow_run';
    if not found then
        raise exception using errcode = 'SW002', message = format('run %s does not exist', p_run_id);
    end if;
    select min(u.def_no) into v_goal
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id between stepwell._run_unit(p_run_id) + 1 and stepwell._run_last(p_run_id)
        and u.parent_id is null and u.mandatory
        and not stepwell._has_ended(u.state_code);
    if v_goal is null then
        return;
    end if;
    v_length := array_fill(1, array[v_goal]);
    v_before := array_fill(0, array[v_goal]);
    -- Steps are numbered in a topological order: every chain to a step is known before its own edges are read.
    for v_edge in
        select r.from_no, r.to_no
        from stepwell.workflow_step_relations as r
        where r.tenant_id = p_tenant_id and r.version_id = v_version_id and r.to_no <= v_goal
        order by r.to_no, r.from_no
    loop
        if v_length[v_edge.from_no] + 1 > v_length[v_edge.to_no] then
            v_length[v_edge.to_no] := v_length[v_edge.from_no] + 1;
            v_before[v_edge.to_no] := v_edge.from_no;
        end if;
    end loop;
    while v_goal > 0 loop
        v_path := v_goal || v_path;
        v_goal := v_before[v_goal];
    end loop;
    return query
    select p.place::int, u.unit_id, d.step_id, u.state_code
    from unnest(v_path) with ordinality as p (step_no, place)
    inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.unit_id = stepwell._run_unit(p_run_id) | p.step_no
    inner join stepwell.workflow_step_def as d
        on d.tenant_id = p_tenant_id and d.version_id = v_version_id and p.step_no = d.step_no
    order by p.place;
end
$$;

-- The steps that cannot start because a step before them is waiting or blocked, each with the first of these steps. It reads the
-- edges once, however many steps stand still.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW007 when the caller may not read, or for another tenant.
create or replace function stepwell.fn_run_blocked_downstream(p_tenant_id int, p_run_id bigint)
returns table (unit_id bigint, blocker_unit_id bigint)
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_first constant bigint := stepwell._run_unit(p_run_id);
    v_hidden constant bigint[] := stepwell.hidden_steps();
    v_last bigint;
    v_still int[];
    v_blocker int[];
    v_no int;
    v_edge record;
begin
    perform stepwell._verb_check(p_tenant_id, 'read');
    select array_agg((u.unit_id - v_first)::int) filter (where u.state_code in ('waiting', 'blocked')), max(u.unit_id) into v_still, v_last
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.scope = 'step' and u.unit_id between v_first + 1 and stepwell._run_last(p_run_id);
    if v_still is null then
        return;
    end if;
    v_blocker := array_fill(0, array[(v_last - v_first)::int]);
    foreach v_no in array v_still loop
        v_blocker[v_no] := v_no;
    end loop;
    -- Steps are numbered in a topological order, also within each item of a map: what is before a step is known first.
    for v_edge in
        select (s.unit_id - v_first)::int as to_no, (s.unit_id + r.from_no - s.def_no - v_first)::int as from_no
        from stepwell.work_unit as s
        inner join stepwell.workflow_step_relations as r
            on s.tenant_id = r.tenant_id and s.version_id = r.version_id and s.def_no = r.to_no
        where s.tenant_id = p_tenant_id and s.scope = 'step' and s.state_code = 'not_started' and s.unit_id between v_first + 1 and v_last
        order by s.unit_id, r.from_no
    loop
        v_no := v_blocker[v_edge.from_no];
        if v_no > 0 and (v_blocker[v_edge.to_no] = 0 or v_no < v_blocker[v_edge.to_no]) then
            v_blocker[v_edge.to_no] := v_no;
        end if;
    end loop;
    return query
    select v_first + b.place, v_first + b.blocker
    from unnest(v_blocker) with ordinality as b (blocker, place)
    where b.blocker > 0 and b.blocker <> b.place and (v_hidden = '{}'
        or (stepwell.unit_is_shown(p_tenant_id, v_first + b.place, v_hidden)
            and stepwell.unit_is_shown(p_tenant_id, v_first + b.blocker, v_hidden)));
end
$$;
