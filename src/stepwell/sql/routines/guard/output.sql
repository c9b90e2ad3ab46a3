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
    v_problem text;
begin
    select a.* into v_asks from stepwell._step_asks(p_unit) as a;
    if not found then
        return 'the step has no definition';
    end if;
    select string_agg(format('task %s is %s', t.task_id, u.state_code), ', ' order by t.task_no) into v_problem
    from stepwell.task_detail as t
    inner join stepwell.work_unit as u on t.tenant_id = u.tenant_id and t.unit_id = u.unit_id
    where p_unit.scope = 'step' and t.tenant_id = p_unit.tenant_id and t.step_run_id = p_unit.unit_id
        and u.state_code not in ('completed', 'skipped');
    v_problem := coalesce(v_problem, stepwell._schema_problem(v_asks.form, coalesce(p_output, '{}')));
    if v_problem is null and v_asks.config ->> 'postcondition' is not null and not coalesce(jsonb_path_match(
        stepwell._unit_document(p_unit.tenant_id, p_unit.unit_id) || jsonb_build_object('output', p_output),
        (v_asks.config ->> 'postcondition')::jsonpath, '{}', true), false) then
        v_problem := format('the postcondition does not hold: %s', v_asks.config ->> 'postcondition');
    end if;
    return v_problem;
end
$$;

-- The first field of a value that breaks a JSON Schema, in one line; null when none does. These words of JSON Schema
-- are enforced: type, required, properties, enum, const, minimum, maximum, minLength, maxLength, pattern, items,
-- minItems, maxItems, additionalProperties false.
create or replace function stepwell._schema_problem(p_schema jsonb, p_value jsonb, p_path text default '$')
returns text
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
declare
    v_type constant text := case jsonb_typeof(p_value)
        when 'number' then case when (p_value #>> '{}')::numeric % 1 = 0 then 'integer' else 'number' end
        else jsonb_typeof(p_value) end;
    v_wanted constant jsonb := p_schema -> 'type';
    v_key text;
    v_part jsonb;
    v_no int := 0;
    v_problem text;
begin
    if p_schema is null or jsonb_typeof(p_schema) <> 'object' then
        return null;
    end if;
    if v_wanted is not null and not (v_wanted @> to_jsonb(v_type) or v_wanted = to_jsonb(v_type)
        or (v_type = 'integer' and (v_wanted = '"number"' or v_wanted @> '["number"]'))) then
        return format('%s must be of type %s, not %s', p_path, v_wanted #>> '{}', v_type);
    end if;
    if p_schema ? 'const' and p_value <> p_schema -> 'const' then
        return format('%s must be %s', p_path, p_schema -> 'const');
    end if;
    if p_schema ? 'enum' and not exists (
        select from jsonb_array_elements(p_schema -> 'enum') as e (choice) where e.choice = p_value) then
        return format('%s must be one of %s', p_path, p_schema -> 'enum');
    end if;
    if v_type in ('integer', 'number') then
        if (p_value #>> '{}')::numeric < (p_schema ->> 'minimum')::numeric
            or (p_value #>> '{}')::numeric > (p_schema ->> 'maximum')::numeric then
            return format('%s must be between %s and %s', p_path,
                coalesce(p_schema ->> 'minimum', 'any'), coalesce(p_schema ->> 'maximum', 'any'));
        end if;
    elsif v_type = 'string' then
        if length(p_value #>> '{}') < (p_schema ->> 'minLength')::int
            or length(p_value #>> '{}') > (p_schema ->> 'maxLength')::int then
            return format('%s must have %s to %s characters', p_path,
                coalesce(p_schema ->> 'minLength', '0'), coalesce(p_schema ->> 'maxLength', 'any'));
        end if;
        if p_schema ? 'pattern' and p_value #>> '{}' !~ (p_schema ->> 'pattern') then
            return format('%s must match %s', p_path, p_schema ->> 'pattern');
        end if;
    elsif v_type = 'object' then
        for v_key in select jsonb_array_elements_text(p_schema -> 'required') loop
            if not p_value ? v_key then
                return format('%s.%s is required', p_path, v_key);
            end if;
        end loop;
        for v_key, v_part in select e.key, e.value from jsonb_each(p_value) as e loop
            if p_schema -> 'properties' ? v_key then
                v_problem := stepwell._schema_problem(p_schema -> 'properties' -> v_key, v_part, p_path || '.' || v_key);
                if v_problem is not null then
                    return v_problem;
                end if;
            elsif p_schema -> 'additionalProperties' = 'false' then
                return format('%s.%s is not a field of this form', p_path, v_key);
            end if;
        end loop;
    elsif v_type = 'array' then
        if jsonb_array_length(p_value) < (p_schema ->> 'minItems')::int
            or jsonb_array_length(p_value) > (p_schema ->> 'maxItems')::int then
            return format('%s must have %s to %s items', p_path,
                coalesce(p_schema ->> 'minItems', '0'), coalesce(p_schema ->> 'maxItems', 'any'));
        end if;
        for v_part in select e.value from jsonb_array_elements(p_value) as e loop
            v_problem := stepwell._schema_problem(p_schema -> 'items', v_part, format('%s[%s]', p_path, v_no));
            if v_problem is not null then
                return v_problem;
            end if;
            v_no := v_no + 1;
        end loop;
    end if;
    return null;
end
$$;
