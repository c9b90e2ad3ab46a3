-- Purpose: say why a text is no SQL/JSON path; null when it is one. (pg_input_is_valid came only with 16.)
-- Locks: none.
-- Idempotency: pure.
-- Raises: nothing.
create or replace function stepwell._jsonpath_problem(p_expression text)
returns text
language plpgsql
immutable
set search_path = stepwell, pg_temp
as $$
begin
    perform p_expression::jsonpath;
    return null;
exception
    when others then
        return sqlerrm;
end;
$$;
