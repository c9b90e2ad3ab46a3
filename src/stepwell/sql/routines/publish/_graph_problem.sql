-- Purpose: the first thing that is wrong with a graph, in one line that names node and field; null when it holds.
--   The client checks more and earlier; this is what no client can go round.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._graph_problem(p_graph jsonb) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_limit constant int := 50000;
    v_problem text;
    v_node jsonb;
begin
    if coalesce(p_graph ->> 'name', '') = '' then
        return 'name: is required';
    end if;
    if jsonb_typeof(p_graph -> 'nodes') is distinct from 'array' or jsonb_array_length(p_graph -> 'nodes') = 0 then
        return 'nodes: at least one step is required';
    end if;
    if jsonb_array_length(p_graph -> 'nodes') > v_limit then
        return format('nodes: %s steps, at most %s', jsonb_array_length(p_graph -> 'nodes'), v_limit);
    end if;
    if exists (select from jsonb_array_elements(p_graph -> 'nodes') with ordinality as n (node, place)
        where (n.node ->> 'no')::int <> n.place) then
        return 'nodes: must be numbered 1, 2, 3 … in order';
    end if;
    if exists (select from jsonb_to_recordset(p_graph -> 'edges') as x ("from" int, "to" int)
        where x."from" >= x."to" or x."from" < 1 or x."to" > jsonb_array_length(p_graph -> 'nodes')) then
        return stepwell._graph_cycle(p_graph);
    end if;
    for v_node in
        select n.node from jsonb_array_elements(p_graph -> 'nodes') as n (node)
        where n.node ?| array['inputs', 'over', 'postcondition', 'tasks'] or jsonb_typeof(n.node -> 'test') = 'string'
    loop
        v_problem := stepwell._path_problem(v_node);
        if v_problem is not null then
            return v_problem;
        end if;
    end loop;
    return (
        select format('step %s, executor: %s is not a registered executor class', n.node ->> 'id', n.node ->> 'executor')
        from jsonb_array_elements(p_graph -> 'nodes') as n (node)
        where n.node ? 'executor' and not exists (
            select from stepwell.executor_class as c where c.class_name = n.node ->> 'executor')
        limit 1);
end
$$;
