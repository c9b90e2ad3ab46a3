-- Purpose: does a unit's output satisfy the contract of its step: required fields, their types and allowed
--   values, then the postcondition, a SQL/JSON path over the run document with this output.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._guard_output_contract(p_unit stepwell.work_unit, p_evidence jsonb)
returns boolean
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce(
        stepwell._schema_problem(d.config -> 'form', coalesce(p_evidence -> 'output', '{}')) is null
        and (d.config ->> 'postcondition' is null or jsonb_path_match(
            stepwell._unit_document(p_unit.tenant_id, p_unit.unit_id)
                || jsonb_build_object('output', p_evidence -> 'output'),
            (d.config ->> 'postcondition')::jsonpath, '{}', true)), false)
    from stepwell.workflow_step_def as d
    where d.tenant_id = p_unit.tenant_id and d.version_id = p_unit.version_id and d.step_no = p_unit.def_no
$$;
