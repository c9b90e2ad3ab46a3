-- Purpose: does a unit's output satisfy its contract: every task inside has ended, the form holds, the postcondition too.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._guard_output_contract(p_unit stepwell.work_unit, p_evidence jsonb)
returns boolean
language sql stable
set search_path = stepwell, pg_temp
as $$
    select stepwell._output_contract_problem(p_unit, p_evidence -> 'output') is null
$$;
