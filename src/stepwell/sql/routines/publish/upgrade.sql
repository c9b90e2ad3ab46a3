-- Graphs of earlier formats.

-- A graph of format 1 in the words of format 2. Versions published before keep their graph and hash as they were; the same
-- workflow published again is still the same version.
create or replace function stepwell._graph_upgrade(p_graph jsonb) returns jsonb
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select p_graph - 'nodes' || jsonb_build_object(
        'format', 2,
        'steps', (
            select jsonb_agg(case s.step ->> 'kind' when 'decision' then s.step || '{"kind": "conditional"}' else s.step end
                order by s.place)
            from jsonb_array_elements(p_graph -> 'nodes') with ordinality as s (step, place)),
        'branches', (
            select coalesce(jsonb_agg(b.branch - 'decision' || jsonb_build_object('conditional', b.branch -> 'decision')
                order by b.place), '[]')
            from jsonb_array_elements(p_graph -> 'branches') with ordinality as b (branch, place)))
$$;
