-- The one place where expressions are evaluated: inputs, tests, lists of maps, guards, postconditions, conditions of tasks,
-- rules of policies. What cannot be evaluated, or would cost too much, is a problem of the one who asked, never an error.

-- Whether an expression is a plain path: keys and single subscripts from the root. Such a path cannot fail in lax mode and
-- costs its own length.
create or replace function stepwell._path_is_plain(p_path text) returns boolean
language sql immutable
as $$
    select p_path ~ '^\$(\.[A-Za-z_][A-Za-z0-9_]*|\."[^"\\]*"|\[[0-9]{1,9}\])*$'
$$;

-- A plain path in two parts: the part of the document that it begins in, and the rest; null for other paths. (No pattern here
-- has a backslash: a function with one gets settings of its own, and each call of it costs more.)
create or replace function stepwell._path_way(p_path text) returns text[]
language sql immutable
as $$
    select case
        when p_path !~ '^[$][.](?:input|steps|item|index)(?:[.][A-Za-z_][A-Za-z0-9_]*|[.]"[^"[.backslash.]]*"|[[][0-9]{1,9}[]])*$' then null
        when starts_with(p_path, '$.item') then array['item', substr(p_path, 7)]
        else array[substr(p_path, 3, 5), substr(p_path, 8)] end
$$;

-- The value of an expression over a document. With p_is_test it is true, false or null, as jsonb_path_match gives it;
-- without, it is the first item, null when there is none. problem: why there is no value, for the one who wrote the
-- expression. Errors of types and of strict mode are problems only when not silent. is_costly: the problem is the cost alone,
-- and a worker may evaluate the expression in a transaction of its own (p_is_alone), where the limit is higher. Whoever
-- cannot wait for that gets the problem.
-- Raises: 57014 and what stops the server or the whole statement; nothing else.
create or replace function stepwell._path_evaluate(
    p_document jsonb, p_path text, p_is_test boolean, p_is_silent boolean, p_is_alone boolean default false,
    out result jsonb, out problem text, out is_costly boolean
)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    problem := stepwell._path_excess(p_document, p_path, p_is_alone);
    if problem is not null then
        is_costly := not p_is_alone;
        return;
    end if;
    if p_is_test then
        result := to_jsonb(jsonb_path_match(p_document, p_path::jsonpath, '{}', p_is_silent));
    else
        result := jsonb_path_query_first(p_document, p_path::jsonpath, '{}', p_is_silent);
        if jsonb_typeof(result) = 'number' and octet_length(result::text) > 100 then
            -- Only a number can be made by an expression; everything else is a part of the document.
            problem := stepwell._values_problem(p_path, array[result]);
            result := case when problem is null then result end;
        end if;
    end if;
exception
    when insufficient_resources or operator_intervention or system_error then
        raise;
    when others then
        result := null;
        problem := format('%s cannot be evaluated: %s', p_path, sqlerrm);
end
$$;

-- Whether a path finds more than one value; also when it is too costly to tell.
create or replace function stepwell._path_has_many(p_document jsonb, p_path text) returns boolean
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return stepwell._path_excess(p_document, p_path, false) is not null
        or jsonb_array_length(jsonb_path_query_array(p_document, p_path::jsonpath, '{}', true)) > 1;
end
$$;
