-- Purpose: names a cycle of a graph whose edges do not all point forward, or says that the numbering is wrong.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._graph_cycle(p_graph jsonb) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    with recursive edge as (
        select x."from" as from_no, x."to" as to_no
        from jsonb_to_recordset(p_graph -> 'edges') as x ("from" int, "to" int)
    ), walk as (
        select e.from_no as start_no, e.to_no as at_no, array[e.from_no, e.to_no] as path
        from edge as e
        where e.from_no >= e.to_no
        union all
        select w.start_no, e.to_no, w.path || e.to_no
        from walk as w
        inner join edge as e on w.at_no = e.from_no
        where w.at_no <> w.start_no and cardinality(w.path) <= 64
            and (e.to_no = w.start_no or not e.to_no = any (w.path))
    )
    select coalesce((
        select 'edges: cycle ' || string_agg(coalesce(n.node ->> 'id', p.step_no::text), ' → ' order by p.place)
        from (select w.path from walk as w where w.at_no = w.start_no order by cardinality(w.path) limit 1) as c
        cross join lateral unnest(c.path) with ordinality as p (step_no, place)
        left join jsonb_array_elements(p_graph -> 'nodes') as n (node) on (n.node ->> 'no')::int = p.step_no
        having count(*) > 0
    ), 'edges: must lead from a lower to a higher step number that exists')
$$;
