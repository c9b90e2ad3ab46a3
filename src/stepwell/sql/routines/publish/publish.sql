-- A graph is checked and stored as an immutable version of a workflow.

-- Stores a graph as an immutable version of a workflow. The same graph returns the version that exists.
-- Locks: the workflow's registry row.
-- Idempotency: by the hash of the graph.
-- Raises: SW001 for a graph that is not sound, naming the step and the field; SW006 over a limit; SW007 for another
--   tenant.
create or replace function stepwell.fn_workflow_publish(
    p_tenant_id int, p_graph jsonb, p_actor text
) returns table (version_id int, version_no int, is_new boolean)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'workflow.publish');
    perform stepwell._graph_is_no_template(p_graph);
    return query select g.* from stepwell._graph_publish(p_tenant_id, p_graph, p_actor, false) as g;
end
$$;

-- Stores a graph as an immutable version of a workflow, or of a template of job graphs.
-- Locks: the workflow's registry row.
-- Raises: SW001 for a graph that is not sound; SW006 over a limit.
create or replace function stepwell._graph_publish(
    p_tenant_id int, p_graph jsonb, p_actor text, p_is_template boolean
) returns table (version_id int, version_no int, is_new boolean)
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_name constant text := p_graph ->> 'name';
    v_hash constant text := encode(sha256(convert_to(p_graph::text, 'UTF8')), 'hex');
    v_workflow_id int;
    v_version_id int;
    v_version_no int;
    v_problem text;
begin
    v_problem := coalesce(stepwell._graph_problem(p_graph), stepwell._graph_recursion(p_tenant_id, p_graph),
        case when p_graph ? 'input' then stepwell._schema_refusal(p_graph -> 'input', 'input') end);
    if v_problem is not null then
        raise exception using errcode = 'SW001', message = format('workflow %s: %s', v_name, v_problem);
    end if;
    insert into stepwell.workflow_registry (tenant_id, workflow_name) values (p_tenant_id, v_name)
    on conflict (tenant_id, workflow_name) do nothing;
    select w.workflow_id into v_workflow_id
    from stepwell.workflow_registry as w
    where w.tenant_id = p_tenant_id and w.workflow_name = v_name
    for update;
    select v.version_id, v.version_no into v_version_id, v_version_no
    from stepwell.workflow_version as v
    where v.tenant_id = p_tenant_id and v.workflow_id = v_workflow_id and v.graph_hash = v_hash;
    if not found then
        select n.version_id, n.version_no into v_version_id, v_version_no
        from (
            select v.* from stepwell.workflow_version as v
            where v.tenant_id = p_tenant_id and v.workflow_id = v_workflow_id
            order by v.version_no desc limit 1
        ) as n
        where n.graph -> 'format' = '1' and stepwell._graph_upgrade(n.graph) = p_graph;
    end if;
    if found then
        return query select v_version_id, v_version_no, false;
        return;
    end if;
    -- After the look for the same version: what was published before a rule stays published.
    v_problem := coalesce(case when not p_is_template then stepwell._graph_names_refusal(p_graph) end, stepwell._graph_milestones_refusal(p_graph), stepwell._graph_refusal(p_graph));
    if v_problem is not null then
        raise exception using errcode = 'SW001', message = format('workflow %s: %s', v_name, v_problem);
    end if;
    select coalesce(max(v.version_no), 0) + 1 into v_version_no
    from stepwell.workflow_version as v
    where v.tenant_id = p_tenant_id and v.workflow_id = v_workflow_id;
    insert into stepwell.workflow_version (
        tenant_id, workflow_id, version_no, graph_hash, graph, input_schema, failure_policy, step_count, maps_input,
        published_at, published_by, is_template)
    values (p_tenant_id, v_workflow_id, v_version_no, v_hash, p_graph, p_graph -> 'input',
        coalesce(p_graph ->> 'failure_policy', 'continue-running'), jsonb_array_length(p_graph -> 'steps'),
        exists (select from jsonb_array_elements(p_graph -> 'steps') as s (step) where stepwell._step_maps_input(s.step)),
        stepwell.now(), p_actor, p_is_template)
    returning workflow_version.version_id into v_version_id;
    perform stepwell._graph_store(p_tenant_id, v_version_id, p_graph);
    -- The class of the newest version counts, for the runs of all versions.
    update stepwell.workflow_registry as w set workflow_class = coalesce(p_graph ->> 'workflow_class', 'default')
    where w.tenant_id = p_tenant_id and w.workflow_id = v_workflow_id;
    -- A worker publishes its app before its session opens: the event needs the partition of this month.
    perform stepwell.fn_partitions_ensure(null, 0);
    perform stepwell._event_append(p_tenant_id, 0, 'workflow.published', p_actor,
        jsonb_build_object('workflow', v_name, 'version', v_version_no, 'hash', v_hash));
    return query select v_version_id, v_version_no, true;
end
$$;

-- Whether a step is a Map that runs in every run and whose list is a plain part of the run's input: so it is known when
-- the run starts.
create or replace function stepwell._step_maps_input(p_step jsonb) returns boolean
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select p_step ->> 'kind' = 'map' and coalesce((p_step ->> 'scope')::int, 0) = 0 and p_step ->> 'branch' is null
        and coalesce((p_step ->> 'mandatory')::boolean, true)
        and p_step ->> 'over' ~ '^\$\.input(\.[A-Za-z_][A-Za-z0-9_]*)*$'
$$;

-- The first thing that is wrong with a graph, in one line that names step and field; null when nothing is.
create or replace function stepwell._graph_problem(p_graph jsonb) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_limit constant int := stepwell._limit('limits.step_count');
    v_task_limit constant int := stepwell._limit('limits.tasks_per_step');
    v_problem text;
    v_step jsonb;
begin
    if length(coalesce(p_graph ->> 'name', '')) not between 1 and 200 then
        return 'name: a name of 1 to 200 characters is required';
    end if;
    if jsonb_typeof(p_graph -> 'steps') is distinct from 'array' or jsonb_array_length(p_graph -> 'steps') = 0 then
        return 'steps: at least one step is required';
    end if;
    if jsonb_array_length(p_graph -> 'steps') > v_limit then
        return format('steps: %s are too many; at most %s are accepted', jsonb_array_length(p_graph -> 'steps'), v_limit);
    end if;
    select format('step %s, tasks: %s are too many; at most %s are accepted', s.step ->> 'id',
        jsonb_array_length(s.step -> 'tasks'), v_task_limit)
    into v_problem
    from jsonb_array_elements(p_graph -> 'steps') as s (step)
    where jsonb_typeof(s.step -> 'tasks') = 'array' and jsonb_array_length(s.step -> 'tasks') > v_task_limit
    limit 1;
    if v_problem is not null then
        return v_problem;
    end if;
    if exists (select from jsonb_array_elements(p_graph -> 'steps') with ordinality as s (step, place)
        where (s.step ->> 'no')::int <> s.place) then
        return 'steps: must be numbered 1, 2, 3 … in order';
    end if;
    if exists (select from jsonb_to_recordset(p_graph -> 'edges') as x ("from" int, "to" int)
        where x."from" >= x."to" or x."from" < 1 or x."to" > jsonb_array_length(p_graph -> 'steps')) then
        return stepwell._graph_cycle(p_graph);
    end if;
    for v_step in
        select s.step from jsonb_array_elements(p_graph -> 'steps') as s (step)
        where s.step ?| array['inputs', 'over', 'postcondition', 'tasks'] or jsonb_typeof(s.step -> 'test') = 'string'
    loop
        v_problem := stepwell._path_problem(v_step);
        if v_problem is not null then
            return v_problem;
        end if;
    end loop;
    return coalesce(stepwell._graph_times_problem(p_graph), (
        select format('step %s, executor: %s is not registered', s.step ->> 'id', s.step ->> 'executor')
        from jsonb_array_elements(p_graph -> 'steps') as s (step)
        where s.step ? 'executor' and not exists (
            select from stepwell.executor_class as c where c.class_name = s.step ->> 'executor')
        limit 1));
end
$$;

-- Names a cycle of a graph whose edges do not all point forward, or says that the numbering is wrong.
create or replace function stepwell._graph_cycle(p_graph jsonb) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_cycle constant int[] := stepwell._cycle_find(jsonb_array_length(p_graph -> 'steps'), p_graph -> 'edges');
begin
    return coalesce((
        select 'edges: cycle ' || string_agg(coalesce(s.step ->> 'id', p.step_no::text), ' → ' order by p.place)
        from unnest(v_cycle) with ordinality as p (step_no, place)
        left join jsonb_array_elements(p_graph -> 'steps') as s (step) on (s.step ->> 'no')::int = p.step_no
    ), 'edges: must lead from a lower to a higher step number that exists');
end
$$;

-- The steps of one cycle, the first again at the end; null when there is none, or when an edge leads to no step. Each
-- step and each edge is visited once, so a dense graph costs no more than its edges.
create or replace function stepwell._cycle_find(p_step_count int, p_edges jsonb) returns int[]
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    -- The edges of step n are those from v_next[n] to before v_end[n] in v_to.
    v_to int[];
    v_next int[];
    v_end int[];
    v_is_open boolean[] := array_fill(false, array[p_step_count]);
    v_is_done boolean[] := array_fill(false, array[p_step_count]);
    v_path int[];
    v_depth int;
    v_at int;
    v_target int;
begin
    select array_agg(x."to" order by x."from", x."to") into v_to from jsonb_to_recordset(p_edges) as x ("from" int, "to" int);
    select array_agg(coalesce(c.first_no, 1) order by s.step_no), array_agg(coalesce(c.last_no, 0) order by s.step_no)
    into v_next, v_end
    from generate_series(1, p_step_count) as s (step_no)
    left join (
        select n.from_no, min(n.place) as first_no, max(n.place) as last_no
        from (select x."from" as from_no, row_number() over (order by x."from", x."to")::int as place
            from jsonb_to_recordset(p_edges) as x ("from" int, "to" int)) as n
        group by n.from_no
    ) as c on s.step_no = c.from_no;
    for v_start in 1 .. p_step_count loop
        continue when v_is_done[v_start];
        v_path := array[v_start];
        v_depth := 1;
        v_is_open[v_start] := true;
        while v_depth > 0 loop
            v_at := v_path[v_depth];
            if v_next[v_at] > v_end[v_at] then
                v_is_open[v_at] := false;
                v_is_done[v_at] := true;
                v_depth := v_depth - 1;
                continue;
            end if;
            v_target := v_to[v_next[v_at]];
            v_next[v_at] := v_next[v_at] + 1;
            if v_target is null or v_target not between 1 and p_step_count then
                return null;
            end if;
            if v_is_open[v_target] then
                return v_path[array_position(v_path, v_target) : v_depth] || v_target;
            end if;
            if not v_is_done[v_target] then
                v_depth := v_depth + 1;
                v_path[v_depth] := v_target;
                v_is_open[v_target] := true;
            end if;
        end loop;
    end loop;
    return null;
end
$$;

-- The first expression of a step that PostgreSQL cannot parse as an SQL/JSON path, by name; null when all can be
-- parsed.
create or replace function stepwell._path_problem(p_step jsonb) returns text
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
declare
    v_field text;
    v_path text;
begin
    for v_field, v_path in select e.field, e.path from stepwell._step_expressions(p_step) as e loop
        begin
            perform v_path::jsonpath;
        exception when others then
            return format('step %s, %s: %s is not an SQL/JSON path (%s)', p_step ->> 'id', v_field, v_path, sqlerrm);
        end;
    end loop;
    return null;
end
$$;

-- The first expression or pattern of a graph whose cost no document bounds, by step and field; null when there is none.
create or replace function stepwell._graph_refusal(p_graph jsonb) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select x.problem
    from (
        select format('step %s, %s: %s', s.step ->> 'id', e.field, r.reason) as problem, r.reason
        from jsonb_array_elements(p_graph -> 'steps') as s (step)
        cross join lateral stepwell._step_expressions(s.step) as e
        cross join lateral (select stepwell._path_refusal(e.path)) as r (reason)
        union all
        select format('%s: %s %s', f.field, m.pattern, r.reason), r.reason
        from (
            select 'input' as field, p_graph -> 'input' as form
            union all
            select format('step %s, form', s.step ->> 'id'), s.step -> 'form' from jsonb_array_elements(p_graph -> 'steps') as s (step)
        ) as f
        cross join lateral jsonb_array_elements_text(
            jsonb_path_query_array(f.form, 'strict $.**.pattern ? (@.type() == "string")', '{}', true)) as m (pattern)
        cross join lateral (select stepwell._regex_refusal(m.pattern)) as r (reason)
        -- In forms (?=…) is usual, for passwords; the text is short, and what is too long is not matched.
        where stepwell._regex_fault(m.pattern) is distinct from 'looks'
    ) as x
    where x.reason is not null
    limit 1
$$;

-- The expressions of a step of a graph, with the names of their fields.
create or replace function stepwell._step_expressions(p_step jsonb) returns table (field text, path text)
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select 'inputs.' || i.key, i.value from jsonb_each_text(p_step -> 'inputs') as i
    union all
    select 'over', p_step ->> 'over' where p_step ? 'over'
    union all
    select 'test', p_step ->> 'test' where jsonb_typeof(p_step -> 'test') = 'string'
    union all
    select 'postcondition', p_step ->> 'postcondition' where p_step ? 'postcondition'
    union all
    select format('tasks.%s.when', coalesce(t.task ->> 'id', (t.place - 1)::text)), t.task ->> 'when'
    from jsonb_array_elements(case jsonb_typeof(p_step -> 'tasks') when 'array' then p_step -> 'tasks' else '[]' end)
        with ordinality as t (task, place)
    where t.task ? 'when'
$$;

-- The step through which a workflow would call itself without end, through the newest versions of the workflows that
-- it names, in one line; null when there is none. A version that is published later is checked then.
create or replace function stepwell._graph_recursion(p_tenant_id int, p_graph jsonb) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_name constant text := p_graph ->> 'name';
    v_seen text[] := '{}'::text[];
    v_at record;
    v_circle record;
begin
    select array_agg(c.callee) as names, array_agg(c.step_id) as step_ids, array_agg(v_name || ' → ' || c.callee) as paths
    into v_at
    from (
        select distinct on (s.step ->> 'workflow') s.step ->> 'workflow' as callee, s.step ->> 'id' as step_id
        from jsonb_array_elements(p_graph -> 'steps') as s (step)
        where s.step ->> 'kind' = 'subworkflow'
    ) as c;
    -- Level by level, each workflow once: the path that is named is one of the shortest.
    while v_at.names is not null loop
        select q.step_id, q.path into v_circle
        from unnest(v_at.names, v_at.step_ids, v_at.paths) as q (name, step_id, path)
        where q.name = v_name;
        if found then
            return format('step %s, workflow: the workflow would call itself without end: %s', v_circle.step_id, v_circle.path);
        end if;
        v_seen := v_seen || v_at.names;
        select array_agg(c.callee) as names, array_agg(c.step_id) as step_ids, array_agg(c.path) as paths
        into v_at
        from (
            select distinct on (d.config ->> 'workflow') d.config ->> 'workflow' as callee, q.step_id,
                q.path || ' → ' || (d.config ->> 'workflow') as path
            from unnest(v_at.names, v_at.step_ids, v_at.paths) as q (name, step_id, path)
            inner join stepwell.workflow_registry as w on w.tenant_id = p_tenant_id and w.workflow_name = q.name
            cross join lateral (
                select x.version_id from stepwell.workflow_version as x
                where x.tenant_id = w.tenant_id and x.workflow_id = w.workflow_id
                order by x.version_no desc limit 1
            ) as v
            inner join stepwell.workflow_step_def as d
                on d.tenant_id = p_tenant_id and d.version_id = v.version_id and d.step_kind = 'subworkflow'
            where not d.config ->> 'workflow' = any (v_seen)
        ) as c;
    end loop;
    return null;
end
$$;

-- Writes the rows of one published graph: steps, relations, branches, groups. An operation that is not known yet is
-- registered with the defaults.
create or replace function stepwell._graph_store(p_tenant_id int, p_version_id int, p_graph jsonb) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    insert into stepwell.operation (tenant_id, operation_name, executor_class_id)
    select distinct on (s.step ->> 'operation') p_tenant_id, s.step ->> 'operation', c.executor_class_id
    from jsonb_array_elements(p_graph -> 'steps') as s (step)
    inner join stepwell.executor_class as c on c.class_name = coalesce(s.step ->> 'executor', 'default')
    where s.step ->> 'kind' = 'operation'
    on conflict (tenant_id, operation_name) do nothing;
    insert into stepwell.workflow_step_def (
        tenant_id, version_id, step_no, step_id, step_kind, scope_no, branch_no, group_no, mandatory, priority,
        pending_count, operation_id, max_attempts, timeout_seconds, has_contract, inputs, config, is_last, has_deadline)
    select
        p_tenant_id, p_version_id, (s.step ->> 'no')::int, s.step ->> 'id', s.step ->> 'kind',
        coalesce((s.step ->> 'scope')::int, 0), (s.step ->> 'branch')::int, (s.step ->> 'group')::int,
        coalesce((s.step ->> 'mandatory')::boolean, true), coalesce((s.step ->> 'priority')::smallint, 0),
        stepwell._pending_first(s.step, coalesce(e.pending_count, 0)), o.operation_id,
        coalesce((s.step -> 'retry' ->> 'max_attempts')::smallint, o.max_attempts, 1),
        coalesce((s.step ->> 'timeout_seconds')::real, o.timeout_seconds),
        s.step ? 'form' or s.step ? 'postcondition', s.step -> 'inputs',
        s.step - array['no', 'id', 'kind', 'scope', 'branch', 'group', 'mandatory', 'priority', 'operation', 'inputs'],
        coalesce((s.step ->> 'scope')::int, 0) = 0 and f.from_no is null, s.step ? 'deadline' and s.step ->> 'kind' <> 'human'
    from jsonb_array_elements(p_graph -> 'steps') as s (step)
    left join stepwell.operation as o on o.tenant_id = p_tenant_id and o.operation_name = s.step ->> 'operation'
    left join (
        select x."to" as to_no, count(*)::int as pending_count
        from jsonb_to_recordset(p_graph -> 'edges') as x ("to" int)
        group by x."to"
    ) as e on e.to_no = (s.step ->> 'no')::int
    left join (
        select distinct x."from" as from_no from jsonb_to_recordset(p_graph -> 'edges') as x ("from" int)
    ) as f on f.from_no = (s.step ->> 'no')::int;
    insert into stepwell.workflow_step_relations (tenant_id, version_id, from_no, to_no, branch_no)
    select p_tenant_id, p_version_id, x."from", x."to", x.branch
    from jsonb_to_recordset(p_graph -> 'edges') as x ("from" int, "to" int, branch int);
    insert into stepwell.workflow_branch (tenant_id, version_id, branch_no, conditional_no, parent_branch_no, negated)
    select p_tenant_id, p_version_id, x.no, x.conditional, x.parent, x.negated
    from jsonb_to_recordset(p_graph -> 'branches') as x (no int, conditional int, parent int, negated boolean);
    insert into stepwell.workflow_group (tenant_id, version_id, group_no, max_concurrency)
    select p_tenant_id, p_version_id, x.no, x.max_concurrency
    from jsonb_to_recordset(p_graph -> 'groups') as x (no int, max_concurrency int);
end
$$;
