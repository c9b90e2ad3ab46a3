-- Purpose: evaluates a guard written as SQL/JSON path over {input, steps, unit, evidence}. A path that fails or
--   gives no boolean does not hold: guards are closed by default.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._guard_expression(p_path text, p_unit stepwell.work_unit, p_evidence jsonb)
returns boolean
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return coalesce(jsonb_path_match(
        stepwell._unit_document(p_unit.tenant_id, p_unit.unit_id)
            || jsonb_build_object(
                'evidence', coalesce(p_evidence, '{}'),
                'unit', to_jsonb(p_unit)),
        p_path::jsonpath, '{}', true), false);
exception when data_exception or syntax_error or invalid_text_representation then
    return false;
end
$$;
