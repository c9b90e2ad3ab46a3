-- The contract of an output: its form, its postcondition, the tasks inside the step. The database checks it, so no
-- client can avoid it.

-- What is wrong with the output of a unit, in one line: a task inside it is open, a field breaks its form, or the
-- postcondition over the run's document with this output does not hold. A postcondition that cannot be evaluated does
-- not hold. Null when the unit may complete.
create or replace function stepwell._output_contract_problem(p_unit stepwell.work_unit, p_output jsonb) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_asks record;
    v_holds record;
    v_problem text;
begin
    select a.* into v_asks from stepwell._step_asks(p_unit) as a;
    if not found then
        return 'the step has no definition';
    end if;
    if v_asks.step_kind in ('conditional', 'map', 'subworkflow') then
        return 'the engine completes it; a worker reports the value of its expression';
    end if;
    select string_agg(format('task %s is %s', t.task_id, u.state_code), ', ' order by t.task_no) into v_problem
    from stepwell.task_detail as t
    inner join stepwell.work_unit as u on t.tenant_id = u.tenant_id and t.unit_id = u.unit_id
    where p_unit.scope = 'step' and t.tenant_id = p_unit.tenant_id and t.step_run_id = p_unit.unit_id
        and u.state_code not in ('completed', 'skipped');
    v_problem := coalesce(v_problem, stepwell._schema_problem(v_asks.form, coalesce(p_output, '{}')));
    if v_problem is null and v_asks.config ->> 'postcondition' is not null then
        v_holds := stepwell._path_evaluate(
            stepwell._unit_document(p_unit.tenant_id, p_unit.unit_id) || jsonb_build_object('output', p_output),
            v_asks.config ->> 'postcondition', true, true);
        v_problem := case when v_holds.problem is not null then 'postcondition: ' || v_holds.problem
            when v_holds.result is distinct from 'true'
                then format('the postcondition does not hold: %s', v_asks.config ->> 'postcondition') end;
    end if;
    return v_problem;
end
$$;
