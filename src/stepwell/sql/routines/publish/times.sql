-- The times of a graph: when a step is due, how long it may take, when somebody is told. They are used when the step before
-- is reported or a timer fires; a wrong one must not be found only then.

-- The first time that is not accepted, in one line that names step and field; null when all are.
create or replace function stepwell._graph_times_problem(p_graph jsonb) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select format('step %s, %s', s.step ->> 'id', t.problem)
    from jsonb_array_elements(p_graph -> 'steps') with ordinality as s (step, place)
    cross join lateral (
        select x.problem
        from (values
            (1, case when s.step ? 'due_at' then stepwell._moment_problem('due_at', s.step ->> 'due_at') end),
            (2, stepwell._seconds_problem('deadline', s.step -> 'deadline')),
            (3, stepwell._seconds_problem('timeout_seconds', s.step -> 'timeout_seconds'))
        ) as x (no, problem)
        where x.problem is not null
        union all
        select coalesce(stepwell._seconds_problem(format('escalation %s, after', e.no), e.entry -> 'after'),
            case when not e.entry ? 'after' then format('escalation %s, after: required', e.no) end)
        from jsonb_array_elements(case jsonb_typeof(s.step -> 'escalation') when 'array' then s.step -> 'escalation' end)
            with ordinality as e (entry, no)
    ) as t
    where s.step ?| array['due_at', 'deadline', 'timeout_seconds', 'escalation'] and t.problem is not null
    order by s.place
    limit 1
$$;

-- Why a duration is not accepted; null when it is, or is not given.
create or replace function stepwell._seconds_problem(p_field text, p_value jsonb) returns text
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select case when p_value is not null and p_value <> 'null'
        and not coalesce(jsonb_typeof(p_value) = 'number' and (p_value #>> '{}')::numeric between 0 and 316224000, false)
        then format('%s: %s is not accepted; accepted: 0 to 316224000 seconds', p_field, left(p_value::text, 50)) end
$$;

-- Why a time is not accepted; null when it is.
create or replace function stepwell._moment_problem(p_field text, p_value text) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if p_value is null or p_value::timestamptz between '0001-01-02Z' and '9999-12-30Z' then
        return null;
    end if;
    return format('%s: %s is not accepted; accepted: a time in the years 1 to 9999', p_field, p_value);
exception when data_exception then
    return format('%s: %s is not accepted; accepted: a time with its zone, such as 2026-12-24T17:00:00+07:00', p_field, left(p_value, 50));
end
$$;
