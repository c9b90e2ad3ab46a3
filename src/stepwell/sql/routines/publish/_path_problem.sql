-- Purpose: the first expression of a node that Postgres cannot parse as SQL/JSON path, named; null when all parse.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._path_problem(p_node jsonb) returns text
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
declare
    v_field text;
    v_path text;
    v_checked jsonpath;
begin
    for v_field, v_path in
        select 'inputs.' || i.key, i.value from jsonb_each_text(p_node -> 'inputs') as i
        union all
        select 'over', p_node ->> 'over' where p_node ? 'over'
        union all
        select 'test', p_node ->> 'test' where jsonb_typeof(p_node -> 'test') = 'string'
        union all
        select 'postcondition', p_node ->> 'postcondition' where p_node ? 'postcondition'
        union all
        select format('tasks.%s.when', coalesce(t.task ->> 'id', (t.place - 1)::text)), t.task ->> 'when'
        from jsonb_array_elements(case jsonb_typeof(p_node -> 'tasks') when 'array' then p_node -> 'tasks' else '[]' end)
            with ordinality as t (task, place)
        where t.task ? 'when'
    loop
        begin
            v_checked := v_path::jsonpath;
        exception when others then
            return format('step %s, %s: %s is not an SQL/JSON path (%s)', p_node ->> 'id', v_field, v_path, sqlerrm);
        end;
    end loop;
    return null;
end
$$;
