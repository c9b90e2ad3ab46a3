-- Purpose: the verdict of a Conditional's test: true, false, or the problem that keeps it from being either.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._test_evaluate(
    p_tenant_id int, p_unit_id bigint, p_config jsonb, out holds boolean, out problem text
)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_document jsonb;
    v_found jsonb;
begin
    v_document := stepwell._unit_document(p_tenant_id, p_unit_id,
        array(select jsonb_array_elements_text(p_config -> 'reads')::int));
    if jsonb_typeof(p_config -> 'test') = 'object' then
        holds := v_document -> 'steps' -> (p_config -> 'test' ->> 'step') ->> 'status' = 'completed';
        return;
    end if;
    v_found := jsonb_path_query_first(v_document, (p_config ->> 'test')::jsonpath);
    if jsonb_typeof(v_found) = 'boolean' then
        holds := v_found::boolean;
    else
        problem := format('the test %s gave %s, not true or false', p_config ->> 'test',
            coalesce(left(v_found::text, 100), 'nothing'));
    end if;
exception when data_exception or syntax_error or invalid_text_representation then
    problem := format('the test %s cannot be evaluated: %s', p_config ->> 'test', sqlerrm);
end
$$;
