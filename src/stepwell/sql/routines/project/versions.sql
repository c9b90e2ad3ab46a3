-- Versions of a workflow beside each other, and where its runs are now.

-- What differs between two versions of a workflow: steps and edges that were added, removed or changed, and fields of the workflow
-- itself. Steps are compared by their id; numbers that only say where a step stands in the graph do not count.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when there is no such version.
create or replace function stepwell.fn_workflow_diff(p_tenant_id int, p_workflow text, p_from int, p_to int) returns json
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_from constant jsonb := stepwell._version_graph(p_tenant_id, p_workflow, p_from);
    v_to constant jsonb := stepwell._version_graph(p_tenant_id, p_workflow, p_to);
begin
    return (select json_build_object('from', p_from, 'to', p_to,
        'steps', (select coalesce(json_agg(json_build_object('id', coalesce(n.step_id, o.step_id),
                'change', case when o.step_id is null then 'added' when n.step_id is null then 'removed' else 'changed' end,
                'no_from', o.step_no, 'no_to', n.step_no, 'title', coalesce(n.body, o.body) ->> 'title', 'kind', coalesce(n.body, o.body) ->> 'kind',
                'fields', case when o.step_id is null or n.step_id is null then '[]' else stepwell._fields_diff(o.body, n.body) end)
                order by coalesce(n.step_no, o.step_no), o.step_no), '[]')
            from stepwell._graph_steps_named(v_from) as o
            full join stepwell._graph_steps_named(v_to) as n on o.step_id = n.step_id
            where o.body is distinct from n.body),
        'edges', (select coalesce(json_agg(json_build_object('from', coalesce(n.from_id, o.from_id), 'to', coalesce(n.to_id, o.to_id),
                'change', case when o.from_id is null then 'added' when n.from_id is null then 'removed' else 'changed' end,
                'before', o.label, 'after', n.label) order by coalesce(n.from_id, o.from_id), coalesce(n.to_id, o.to_id)), '[]')
            from stepwell._graph_edges_named(v_from) as o
            full join stepwell._graph_edges_named(v_to) as n on o.from_id = n.from_id and o.to_id = n.to_id
            where o.from_id is null or n.from_id is null or o.label is distinct from n.label),
        'fields', stepwell._fields_diff(v_from - '{steps,edges,branches,groups}'::text[], v_to - '{steps,edges,branches,groups}'::text[])));
end
$$;

-- The graph of a version, as the caller sees it.
-- Raises: SW002 when there is none.
create or replace function stepwell._version_graph(p_tenant_id int, p_workflow text, p_version_no int) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_graph jsonb;
begin
    select stepwell.version_graph(v.tenant_id, v.version_id) into v_graph
    from stepwell.workflow_version as v
    inner join stepwell.workflow_registry as w on v.tenant_id = w.tenant_id and v.workflow_id = w.workflow_id
    where v.tenant_id = p_tenant_id and w.workflow_name = p_workflow and v.version_no = p_version_no;
    if not found then
        raise exception using errcode = 'SW002', column = 'version_no', message = format('workflow %s has no version %s', p_workflow, p_version_no);
    end if;
    return v_graph;
end
$$;

-- The steps of a graph without their numbers: what a number names stands there by its id or its own value.
create or replace function stepwell._graph_steps_named(p_graph jsonb) returns table (step_id text, step_no int, body jsonb)
language sql immutable
set search_path = stepwell, pg_temp
as $$
    with step as (
        select s.value as step, (s.value ->> 'no')::int as no, s.value ->> 'id' as id from jsonb_array_elements(p_graph -> 'steps') as s
    ), branch as (
        select (b.value ->> 'no')::int as no, s.id || ': ' || (b.value ->> 'label') as name
        from jsonb_array_elements(p_graph -> 'branches') as b
        inner join step as s on (b.value ->> 'conditional')::int = s.no
    )
    select s.id, s.no, (s.step - '{no,scope,branch,group,reads,catches}'::text[]) || jsonb_strip_nulls(jsonb_build_object(
        'inside', (select x.id from step as x where x.no = (s.step ->> 'scope')::int),
        'branch', (select b.name from branch as b where b.no = (s.step ->> 'branch')::int),
        'catches', (select jsonb_agg(x.id order by x.id) from step as x where s.step -> 'catches' @> to_jsonb(x.no)),
        'group', (select g.value -> 'max_concurrency' from jsonb_array_elements(p_graph -> 'groups') as g
            where (g.value ->> 'no')::int = (s.step ->> 'group')::int)))
    from step as s
$$;

-- The edges of a graph by the ids of their steps; the label is that of the branch which an edge opens.
create or replace function stepwell._graph_edges_named(p_graph jsonb) returns table (from_id text, to_id text, label text)
language sql immutable
set search_path = stepwell, pg_temp
as $$
    with step as (
        select (s.value ->> 'no')::int as no, s.value ->> 'id' as id from jsonb_array_elements(p_graph -> 'steps') as s
    )
    select f.id, t.id, (select b.value ->> 'label' from jsonb_array_elements(p_graph -> 'branches') as b
        where (b.value ->> 'no')::int = (e.value ->> 'branch')::int)
    from jsonb_array_elements(p_graph -> 'edges') as e
    inner join step as f on (e.value ->> 'from')::int = f.no
    inner join step as t on (e.value ->> 'to')::int = t.no
$$;

-- The fields in which two objects differ, with both values.
create or replace function stepwell._fields_diff(p_before jsonb, p_after jsonb) returns json
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select coalesce(json_agg(json_build_object('field', k.name, 'before', p_before -> k.name, 'after', p_after -> k.name) order by k.name), '[]')
    from (select jsonb_object_keys(p_before) as name union select jsonb_object_keys(p_after)) as k
    where p_before -> k.name is distinct from p_after -> k.name
$$;

-- Where the open runs of a workflow are: how many of each colour, how many of each version, and for one version how many steps are
-- in each state. The newest 500 open runs are counted; is_at_least says that there are more.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when there is no such version.
create or replace function stepwell.fn_workflow_running(p_tenant_id int, p_workflow text, p_version_no int) returns json
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_most constant int := 500;
    v_version record;
begin
    select v.version_id, v.workflow_id into v_version
    from stepwell.workflow_version as v
    inner join stepwell.workflow_registry as w on v.tenant_id = w.tenant_id and v.workflow_id = w.workflow_id
    where v.tenant_id = p_tenant_id and w.workflow_name = p_workflow and v.version_no = p_version_no;
    if not found then
        raise exception using errcode = 'SW002', column = 'version_no', message = format('workflow %s has no version %s', p_workflow, p_version_no);
    end if;
    return (
        with run as materialized (
            select r.run_id, r.version_id, p.rollup_state_code
            from stepwell.run_detail as r
            inner join stepwell.run_progress as p on r.tenant_id = p.tenant_id and r.run_id = p.run_id
            where r.tenant_id = p_tenant_id and r.workflow_id = v_version.workflow_id and r.finished_at is null
            order by r.run_id desc limit v_most + 1
        ), counted as (
            select x.run_id, x.version_id, x.rollup_state_code from run as x order by x.run_id desc limit v_most
        )
        select json_build_object('open', (select count(*) from counted), 'is_at_least', (select count(*) > v_most from run),
            'colours', (select coalesce(json_object_agg(c.rollup_state_code, c.runs), '{}')
                from (select x.rollup_state_code, count(*) as runs from counted as x group by x.rollup_state_code) as c),
            'versions', (select coalesce(json_agg(json_build_object('version_no', v.version_no, 'open', c.runs) order by v.version_no desc), '[]')
                from (select x.version_id, count(*) as runs from counted as x group by x.version_id) as c
                inner join stepwell.workflow_version as v on v.tenant_id = p_tenant_id and c.version_id = v.version_id),
            'steps', (select coalesce(json_agg(json_build_object('no', c.def_no, 'state', c.state_code, 'count', c.units) order by c.def_no, c.ordinal), '[]')
                from (
                    select u.def_no, u.state_code, s.ordinal, count(*) as units
                    from counted as x
                    inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.scope = 'step'
                        and u.unit_id between stepwell._run_unit(x.run_id) + 1 and stepwell._run_unit(x.run_id + 1) - 1
                    inner join stepwell.state_def as s on u.state_machine_id = s.state_machine_id and u.state_code = s.state_code
                    where x.version_id = v_version.version_id and not s.is_terminal and s.semantic_class <> 'idle'
                    group by u.def_no, u.state_code, s.ordinal
                ) as c)));
end
$$;
