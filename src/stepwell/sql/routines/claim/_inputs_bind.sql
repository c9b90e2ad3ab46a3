-- Purpose: resolves a step's declared inputs ({parameter: path}) over its document; a path that finds nothing is null.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._inputs_bind(p_tenant_id int, p_unit_id bigint, p_inputs jsonb, p_reads jsonb)
returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select jsonb_object_agg(i.key, jsonb_path_query_first(d.document, i.value::jsonpath, '{}', true))
    from (select stepwell._unit_document(p_tenant_id, p_unit_id,
        case when p_reads is not null then array(select jsonb_array_elements_text(p_reads)::int) end)) as d (document)
    cross join jsonb_each_text(p_inputs) as i
$$;
