-- The milestones of a graph: names of moments that people wait for. A step that has one reaches it when it is completed.

-- The first milestone of a graph that is not accepted, by step; null when all are. The rule is that of the Python side
-- (define/check.py): a text of 1 to 200 characters, once in a workflow, on a step that a run has once.
create or replace function stepwell._graph_milestones_refusal(p_graph jsonb) returns text
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select format('step %s, milestone: %s', x.step_id, x.problem)
    from (
        select s.place, s.step ->> 'id' as step_id, case
            when jsonb_typeof(s.step -> 'milestone') <> 'string' or btrim(s.step ->> 'milestone') = '' or length(s.step ->> 'milestone') > 200
                then 'a text of 1 to 200 characters is accepted'
            when coalesce((s.step ->> 'scope')::int, 0) <> 0
                then 'the body of a map runs once for each item; accepted: on the map itself'
            when row_number() over (partition by s.step ->> 'milestone' order by s.place) > 1
                then format('%s is already the milestone of another step', left(s.step ->> 'milestone', 200)) end as problem
        from jsonb_array_elements(p_graph -> 'steps') with ordinality as s (step, place)
        where s.step -> 'milestone' <> 'null'
    ) as x
    where x.problem is not null
    order by x.place
    limit 1
$$;
