-- The names in a graph: of the workflow, of its steps, of what they call and of the roles that do them.

-- The first name of a graph that is not accepted, by step and field; null when all are. The rule is that of the Python
-- side (define/names.py); a test holds them equal.
create or replace function stepwell._graph_names_refusal(p_graph jsonb) returns text
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select format('%s: %s is not a valid name; accepted: 1 to 200 letters a-z, digits, ''_'', ''-'' and ''.'', beginning'
        ' with a letter, a digit or ''_''', x.field, left(x.name::text, 210))
    from (
        select 0 as place, g.field, p_graph -> g.field as name from (values ('name'), ('workflow_class')) as g (field)
        union all
        select s.place, format('step %s, %s', s.step ->> 'id', f.field), s.step -> f.field
        from jsonb_array_elements(p_graph -> 'steps') with ordinality as s (step, place)
        cross join (values ('id'), ('operation'), ('workflow'), ('event'), ('role')) as f (field)
        union all
        select s.place, format('step %s, tasks.%s.%s', s.step ->> 'id', coalesce(t.task ->> 'id', (t.at - 1)::text), f.field),
            t.task -> f.field
        from jsonb_array_elements(p_graph -> 'steps') with ordinality as s (step, place)
        cross join lateral jsonb_array_elements(
            case jsonb_typeof(s.step -> 'tasks') when 'array' then s.step -> 'tasks' else '[]' end)
            with ordinality as t (task, at)
        cross join (values ('id'), ('role'), ('operation')) as f (field)
    ) as x
    where x.name <> 'null'
        and (jsonb_typeof(x.name) <> 'string' or x.name #>> '{}' !~ '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}$')
    order by x.place
    limit 1
$$;
