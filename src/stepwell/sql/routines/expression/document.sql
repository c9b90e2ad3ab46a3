-- What the expressions of a step can read, and how the input of a step is made from it.

-- The document that an expression of a step reads: {input, steps: {id: {status, output, error}}} and, inside a Map,
-- item and index. It contains the steps of the same item and the steps around the Map; with a list of step numbers only
-- those.
create or replace function stepwell._unit_document(
    p_tenant_id int, p_unit_id bigint, p_step_nos int[] default null
) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    with recursive level as (
        select u.unit_id, u.version_id, u.def_no, u.parent_id, u.item_no, d.scope_no, 0 as depth
        from stepwell.work_unit as u
        left join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id
        union all
        select u.unit_id, u.version_id, u.def_no, u.parent_id, u.item_no, d.scope_no, l.depth + 1
        from level as l
        inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.unit_id = l.parent_id
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        where l.item_no is not null
    ), item as (
        select i.item, l.item_no
        from level as l
        inner join stepwell.map_item as i
            on i.tenant_id = p_tenant_id and l.parent_id = i.unit_id and l.item_no = i.item_no
        order by l.depth
        limit 1
    ), step as (
        select d.step_id, u.state_code, o.output, f.error
        from level as l
        inner join stepwell.workflow_step_def as d
            on d.tenant_id = p_tenant_id and l.version_id = d.version_id and coalesce(l.scope_no, 0) = d.scope_no
        inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.unit_id = l.unit_id - l.def_no + d.step_no
        left join lateral (
            select x.output from stepwell.unit_output as x
            where x.tenant_id = u.tenant_id and x.unit_id = u.unit_id
            order by x.lease_no desc limit 1
        ) as o on u.state_code = 'completed'
        left join lateral (
            select x.error from stepwell.unit_failure as x
            where x.tenant_id = u.tenant_id and x.unit_id = u.unit_id
            order by x.failed_at desc, x.lease_no desc limit 1
        ) as f on u.state_code in ('failed', 'cannot_complete')
        where p_step_nos is null or d.step_no = any (p_step_nos)
    )
    select jsonb_build_object('input', r.input, 'steps', coalesce((
            select jsonb_object_agg(s.step_id, jsonb_strip_nulls(jsonb_build_object(
                'status', coalesce(w.dialect_code, s.state_code), 'error', s.error)) || jsonb_build_object('output', s.output))
            from step as s
            left join stepwell.state_dialect as w
                on w.dialect = 'node' and w.scope = 'step' and s.state_code = w.state_code
                and w.qualifier = case when s.state_code = 'failed' then 'transient' else '' end
        ), '{}')) || coalesce((select jsonb_build_object('item', i.item, 'index', i.item_no) from item as i), '{}')
    from stepwell.run_detail as r
    where r.tenant_id = p_tenant_id and r.run_id = stepwell._run_of(p_unit_id)
$$;

-- Evaluates the declared inputs of a step ({parameter: path}) over its document; a path that finds nothing gives null. A
-- text instead of an object is the reason why one of them has no value. A list with such a reason says that one of them is
-- costly: a worker may evaluate them alone (p_is_alone).
create or replace function stepwell._inputs_bind(
    p_tenant_id int, p_unit_id bigint, p_inputs jsonb, p_reads jsonb, p_is_alone boolean default false
) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_document constant jsonb := stepwell._unit_document(p_tenant_id, p_unit_id,
        case when p_reads is not null then array(select jsonb_array_elements_text(p_reads)::int) end);
    v_bound jsonb;
    v_others jsonb;
    v_name text;
    v_path text;
    v_value record;
begin
    select jsonb_object_agg(i.key, case when i.is_plain then jsonb_path_query_first(v_document, i.value::jsonpath, '{}', true) end),
        jsonb_object_agg(i.key, i.value) filter (where not i.is_plain)
    into v_bound, v_others
    from (select x.key, x.value, stepwell._path_is_plain(x.value) as is_plain from jsonb_each_text(p_inputs) as x) as i;
    if v_others is not null then
        for v_name, v_path in select x.key, x.value from jsonb_each_text(v_others) as x loop
            v_value := stepwell._path_evaluate(v_document, v_path, false, true, p_is_alone);
            if v_value.is_costly then
                return jsonb_build_array(format('inputs.%s: %s', v_name, v_value.problem));
            elsif v_value.problem is not null then
                return to_jsonb(format('inputs.%s: %s', v_name, v_value.problem));
            end if;
            v_bound := v_bound || jsonb_build_object(v_name, v_value.result);
        end loop;
    end if;
    return v_bound;
end
$$;

-- The inputs of a step as rows of name, part of the document and path in this part; without a part the path is not plain, and
-- it is the whole path.
create or replace function stepwell._inputs_plan(p_inputs jsonb) returns text[]
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
begin
    return (
        select array_agg(array[x.key, x.way[1], coalesce('$' || x.way[2], x.value)])
        from (select e.key, e.value, stepwell._path_way(e.value) as way from jsonb_each_text(p_inputs) as e offset 0) as x);
end
$$;

-- As _inputs_bind, of a plan and over the parts of the document: the input of the run, the steps that the inputs read, and
-- inside a Map the item. A plain path is evaluated over its part alone. What reads nothing but the item is evaluated over it.
create or replace function stepwell._inputs_evaluate(p_plan text[], p_input jsonb, p_steps jsonb, p_item jsonb) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_bound jsonb;
    v_has_others boolean;
    v_value record;
    v_document jsonb;
begin
    select jsonb_object_agg(p_plan[i.no][1], case p_plan[i.no][2]
            when 'input' then jsonb_path_query_first(p_input, p_plan[i.no][3]::jsonpath, '{}', true)
            when 'steps' then jsonb_path_query_first(coalesce(p_steps, '{}'), p_plan[i.no][3]::jsonpath, '{}', true)
            when 'item' then jsonb_path_query_first(p_item -> 'item', p_plan[i.no][3]::jsonpath, '{}', true)
            when 'index' then jsonb_path_query_first(p_item -> 'index', p_plan[i.no][3]::jsonpath, '{}', true) end),
        bool_or(p_plan[i.no][2] is null)
    into v_bound, v_has_others
    from generate_subscripts(p_plan, 1) as i (no);
    if v_has_others then
        for v_no in 1 .. array_length(p_plan, 1) loop
            continue when p_plan[v_no][2] is not null;
            if p_item is not null and stepwell._path_reads_item_alone(p_plan[v_no][3]) then
                v_value := stepwell._path_evaluate(p_item, p_plan[v_no][3], false, true);
            else
                v_document := coalesce(v_document, jsonb_build_object('input', p_input, 'steps', coalesce(p_steps, '{}'))
                    || coalesce(p_item, '{}'));
                v_value := stepwell._path_evaluate(v_document, p_plan[v_no][3], false, true);
            end if;
            if v_value.is_costly then
                return jsonb_build_array(format('inputs.%s: %s', p_plan[v_no][1], v_value.problem));
            elsif v_value.problem is not null then
                return to_jsonb(format('inputs.%s: %s', p_plan[v_no][1], v_value.problem));
            end if;
            v_bound := v_bound || jsonb_build_object(p_plan[v_no][1], v_value.result);
        end loop;
    end if;
    return v_bound;
end
$$;

-- Whether an expression reads nothing but the item of a Map and its index. Where a text in it has a $, it may.
create or replace function stepwell._path_reads_item_alone(p_path text) returns boolean
language sql immutable
as $$
    select p_path !~ '[$](?![.](?:item|index)(?:[].[ )*+/%&|=<>!?,-]|$))'
$$;

-- The inputs of a step inside a Map: the item and its index, and what _inputs_bind gave.
create or replace function stepwell._inputs_join(p_item jsonb, p_bound jsonb) returns jsonb
language sql immutable
as $$
    select case when jsonb_typeof(p_bound) in ('string', 'array') then p_bound else p_item || coalesce(p_bound, '{}') end
$$;

-- What the expression of a step gives that the engine carries out: the test of a conditional, the list of a Map, the inputs
-- of a sub-workflow (of other steps too). Without a value it has a problem, or the expression found nothing. is_costly: as
-- _path_evaluate.
create or replace function stepwell._step_evaluate(
    p_tenant_id int, p_unit_id bigint, p_kind text, p_config jsonb, p_inputs jsonb, p_is_alone boolean,
    out value jsonb, out problem text, out is_costly boolean
)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_field constant text := case p_kind when 'conditional' then 'test' when 'map' then 'over' end;
    v_document jsonb;
    v_found record;
begin
    if v_field is null then
        if p_inputs is null then
            return;
        end if;
        value := stepwell._inputs_bind(p_tenant_id, p_unit_id, p_inputs,
            case when p_kind <> 'subworkflow' then p_config -> 'reads' end, p_is_alone);
        is_costly := jsonb_typeof(value) = 'array';
        if jsonb_typeof(value) <> 'object' then
            problem := coalesce(value ->> 0, value #>> '{}');
            value := null;
        end if;
        return;
    end if;
    v_document := stepwell._unit_document(p_tenant_id, p_unit_id,
        array(select jsonb_array_elements_text(p_config -> 'reads')::int));
    if jsonb_typeof(p_config -> v_field) = 'object' then
        value := to_jsonb(v_document -> 'steps' -> (p_config -> v_field ->> 'step') ->> 'status' = 'completed');
        return;
    end if;
    v_found := stepwell._path_evaluate(v_document, p_config ->> v_field, false, false, p_is_alone);
    value := v_found.result;
    problem := v_field || ': ' || v_found.problem;
    is_costly := v_found.is_costly;
end
$$;
