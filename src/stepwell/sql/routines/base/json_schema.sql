-- What a JSON Schema says about a value, in one line that names the field. The database checks it, so no client can avoid
-- it: the input of a run, the output of a person. Which keywords are checked is said once, in _schema_refusal; texts for
-- readers (title, description, default, examples, format) decide nothing.

-- The first field of a value that breaks a JSON Schema, in one line; null when none does. p_root is the whole schema, in
-- which $ref looks; p_hops counts references and alternatives at the same value, so that a schema which refers to itself
-- ends.
create or replace function stepwell._schema_problem(
    p_schema jsonb, p_value jsonb, p_path text default '$', p_root jsonb default null, p_hops int default 0
) returns text
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
declare
    v_root constant jsonb := coalesce(p_root, p_schema);
    v_type constant text := case jsonb_typeof(p_value)
        when 'number' then case when (p_value #>> '{}')::numeric % 1 = 0 then 'integer' else 'number' end
        else jsonb_typeof(p_value) end;
    v_wanted constant jsonb := p_schema -> 'type';
begin
    if p_schema = 'false' then
        return format('%s is not accepted', p_path);
    end if;
    if p_schema is null or jsonb_typeof(p_schema) <> 'object' then
        return null;
    end if;
    if p_hops > 16 then
        return format('%s cannot be checked: the schema refers to itself', p_path);
    end if;
    if v_wanted is not null and not (v_wanted @> to_jsonb(v_type)
        or (v_type = 'integer' and v_wanted @> '"number"')) then
        return format('%s must be of type %s, not %s', p_path, (select string_agg(w.name #>> '{}', ' or ')
            from jsonb_path_query(v_wanted, '$[*]') as w (name)), v_type);
    end if;
    if p_schema ? 'const' and p_value <> p_schema -> 'const' then
        return format('%s must be %s', p_path, p_schema -> 'const');
    end if;
    if p_schema ? 'enum' and not exists (
        select from jsonb_array_elements(p_schema -> 'enum') as e (choice) where e.choice = p_value) then
        return format('%s must be one of %s', p_path, p_schema -> 'enum');
    end if;
    return coalesce(
        case
            when v_type in ('integer', 'number')
                then stepwell._schema_number_problem(p_schema, (p_value #>> '{}')::numeric, p_path)
            when v_type = 'string' then stepwell._schema_text_problem(p_schema, p_value #>> '{}', p_path)
            when v_type = 'object' then stepwell._schema_object_problem(p_schema, p_value, p_path, v_root)
            when v_type = 'array' then stepwell._schema_array_problem(p_schema, p_value, p_path, v_root) end,
        case when p_schema ?| array['$ref', 'allOf', 'anyOf', 'oneOf']
            then stepwell._schema_alternatives_problem(p_schema, p_value, p_path, v_root, p_hops + 1) end);
end
$$;

-- The limits of a number.
create or replace function stepwell._schema_number_problem(p_schema jsonb, p_value numeric, p_path text) returns text
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select case
        when p_value < (p_schema ->> 'minimum')::numeric or p_value > (p_schema ->> 'maximum')::numeric
            then format('%s must be %s', p_path, coalesce(
                'between ' || (p_schema ->> 'minimum') || ' and ' || (p_schema ->> 'maximum'),
                (p_schema ->> 'minimum') || ' or more', (p_schema ->> 'maximum') || ' or less'))
        when p_value <= (p_schema ->> 'exclusiveMinimum')::numeric
            then format('%s must be more than %s', p_path, p_schema ->> 'exclusiveMinimum')
        when p_value >= (p_schema ->> 'exclusiveMaximum')::numeric
            then format('%s must be less than %s', p_path, p_schema ->> 'exclusiveMaximum')
        when p_value % nullif((p_schema ->> 'multipleOf')::numeric, 0) <> 0
            then format('%s must be a multiple of %s', p_path, p_schema ->> 'multipleOf') end
$$;

-- The length and the pattern of a text. A pattern that would take too long is not matched: the text breaks it.
create or replace function stepwell._schema_text_problem(p_schema jsonb, p_value text, p_path text) returns text
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select case
        when length(p_value) < (p_schema ->> 'minLength')::int or length(p_value) > (p_schema ->> 'maxLength')::int
            then format('%s must have %s characters', p_path, coalesce(
                coalesce(p_schema ->> 'minLength', '0') || ' to ' || (p_schema ->> 'maxLength'),
                (p_schema ->> 'minLength') || ' or more'))
        when p_schema ? 'pattern' and stepwell._regex_steps(p_schema ->> 'pattern', p_value) > 1e7
            then format('%s has %s characters, too many to match %s with', p_path, length(p_value), p_schema ->> 'pattern')
        when p_schema ? 'pattern' and p_value !~ (p_schema ->> 'pattern')
            then format('%s must match %s', p_path, p_schema ->> 'pattern') end
$$;

-- The fields of an object: those required, those known, and what the others must be.
create or replace function stepwell._schema_object_problem(p_schema jsonb, p_value jsonb, p_path text, p_root jsonb)
returns text
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
declare
    v_count constant int := case when p_schema ?| array['minProperties', 'maxProperties']
        then (select count(*)::int from jsonb_object_keys(p_value)) end;
    v_key text;
    v_part jsonb;
    v_problem text;
begin
    select format('%s.%s is required', p_path, r.key) into v_problem
    from jsonb_array_elements_text(p_schema -> 'required') as r (key)
    where not p_value ? r.key
    limit 1;
    if v_count < (p_schema ->> 'minProperties')::int or v_count > (p_schema ->> 'maxProperties')::int then
        v_problem := coalesce(v_problem, format('%s must have %s fields', p_path, coalesce(
            coalesce(p_schema ->> 'minProperties', '0') || ' to ' || (p_schema ->> 'maxProperties'),
            (p_schema ->> 'minProperties') || ' or more')));
    end if;
    for v_key, v_part in select e.key, e.value from jsonb_each(p_value) as e loop
        exit when v_problem is not null;
        if p_schema -> 'properties' ? v_key then
            v_problem := stepwell._schema_problem(p_schema -> 'properties' -> v_key, v_part, p_path || '.' || v_key, p_root);
        elsif p_schema -> 'additionalProperties' = 'false' then
            v_problem := format('%s.%s is not a known field', p_path, v_key);
        else
            v_problem := stepwell._schema_problem(p_schema -> 'additionalProperties', v_part, p_path || '.' || v_key, p_root);
        end if;
        if p_schema ? 'propertyNames' then
            v_problem := coalesce(v_problem, stepwell._schema_problem(p_schema -> 'propertyNames', to_jsonb(v_key),
                format('the name %s.%s', p_path, v_key), p_root));
        end if;
    end loop;
    return v_problem;
end
$$;

-- The items of an array: how many, each once, and what each must be.
create or replace function stepwell._schema_array_problem(p_schema jsonb, p_value jsonb, p_path text, p_root jsonb)
returns text
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
declare
    v_count constant int := jsonb_array_length(p_value);
    v_first_count constant int := coalesce(jsonb_array_length(p_schema -> 'prefixItems'), 0);
    v_part jsonb;
    v_no int := 0;
    v_problem text;
begin
    if v_count < (p_schema ->> 'minItems')::int or v_count > (p_schema ->> 'maxItems')::int then
        return format('%s must have %s items', p_path, coalesce(
            coalesce(p_schema ->> 'minItems', '0') || ' to ' || (p_schema ->> 'maxItems'),
            (p_schema ->> 'minItems') || ' or more'));
    end if;
    if p_schema -> 'uniqueItems' = 'true' and v_count > (
        select count(distinct e.value) from jsonb_array_elements(p_value) as e) then
        return format('%s must not have the same item twice', p_path);
    end if;
    if not p_schema ?| array['items', 'prefixItems'] then
        return null;
    end if;
    for v_part in select e.value from jsonb_array_elements(p_value) as e loop
        v_problem := stepwell._schema_problem(
            case when v_no < v_first_count then p_schema -> 'prefixItems' -> v_no else p_schema -> 'items' end,
            v_part, format('%s[%s]', p_path, v_no), p_root);
        exit when v_problem is not null;
        v_no := v_no + 1;
    end loop;
    return v_problem;
end
$$;

-- What $ref, allOf, anyOf and oneOf say. Where no alternative holds, the problem of the first one is told, "null" aside: an
-- optional field is written as "this or null".
create or replace function stepwell._schema_alternatives_problem(
    p_schema jsonb, p_value jsonb, p_path text, p_root jsonb, p_hops int
) returns text
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
declare
    v_target jsonb;
    v_problem text;
    v_held_count int;
begin
    if p_schema ? '$ref' then
        v_target := p_root #> stepwell._schema_ref_path(p_schema ->> '$ref');
        v_problem := case
            when v_target is null then format('%s cannot be checked: the schema has no %s', p_path, p_schema ->> '$ref')
            else stepwell._schema_problem(v_target, p_value, p_path, p_root, p_hops) end;
    end if;
    if v_problem is null and p_schema ? 'allOf' then
        select p.problem into v_problem
        from jsonb_array_elements(p_schema -> 'allOf') as a (part)
        cross join lateral (select stepwell._schema_problem(a.part, p_value, p_path, p_root, p_hops) as problem offset 0) as p
        where p.problem is not null
        limit 1;
    end if;
    if v_problem is null and p_schema ? 'anyOf' then
        select (count(*) filter (where p.problem is null))::int,
            (array_agg(p.problem order by a.part @> '{"type": "null"}', a.no))[1]
        into v_held_count, v_problem
        from jsonb_array_elements(p_schema -> 'anyOf') with ordinality as a (part, no)
        cross join lateral (select stepwell._schema_problem(a.part, p_value, p_path, p_root, p_hops) as problem offset 0) as p;
        v_problem := case when v_held_count = 0 then v_problem end;
    end if;
    if v_problem is null and p_schema ? 'oneOf' then
        select (count(*) filter (where p.problem is null))::int,
            (array_agg(p.problem order by a.part @> '{"type": "null"}', a.no))[1]
        into v_held_count, v_problem
        from jsonb_array_elements(p_schema -> 'oneOf') with ordinality as a (part, no)
        cross join lateral (select stepwell._schema_problem(a.part, p_value, p_path, p_root, p_hops) as problem offset 0) as p;
        v_problem := case when v_held_count = 0 then v_problem
            when v_held_count > 1 then format('%s fits %s of the alternatives, and must fit one', p_path, v_held_count) end;
    end if;
    return v_problem;
end
$$;

-- A reference within the schema as the path that #> takes; '#' is the whole.
create or replace function stepwell._schema_ref_path(p_ref text) returns text[]
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select case when p_ref = '#' then '{}' when p_ref like '#/%' then (
        select array_agg(replace(replace(s.name, '~1', '/'), '~0', '~') order by s.no)
        from unnest(string_to_array(substr(p_ref, 3), '/')) with ordinality as s (name, no)) end
$$;

-- What is wrong with a schema itself, in one line: a keyword that is not checked here (so that no schema promises more than
-- is kept), a value that the keyword cannot have, a reference to nothing, a pattern that cannot be read.
create or replace function stepwell._schema_refusal(p_schema jsonb, p_path text) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_meta constant jsonb := '{
        "type": "object",
        "$ref": "#/$defs/schema",
        "$defs": {
            "count": {"type": "integer", "minimum": 0},
            "kind": {"enum": ["null", "boolean", "integer", "number", "string", "object", "array"]},
            "list": {"type": "array", "items": {"$ref": "#/$defs/schema"}, "minItems": 1},
            "named": {"type": "object", "additionalProperties": {"$ref": "#/$defs/schema"}},
            "schema": {"anyOf": [{
                "type": "object",
                "propertyNames": {"anyOf": [{"enum": [
                    "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
                    "minLength", "maxLength", "pattern", "properties", "required", "additionalProperties", "propertyNames",
                    "minProperties", "maxProperties", "items", "prefixItems", "minItems", "maxItems", "uniqueItems",
                    "anyOf", "oneOf", "allOf", "$ref", "$defs", "definitions",
                    "title", "description", "default", "example", "examples", "format", "deprecated", "readOnly", "writeOnly",
                    "discriminator", "contentMediaType", "contentEncoding", "$schema", "$id", "$comment"]},
                    {"pattern": "^x-"}]},
                "properties": {
                    "type": {"anyOf": [{"$ref": "#/$defs/kind"}, {"type": "array", "items": {"$ref": "#/$defs/kind"}}]},
                    "enum": {"type": "array", "minItems": 1},
                    "minimum": {"type": "number"}, "maximum": {"type": "number"},
                    "exclusiveMinimum": {"type": "number"}, "exclusiveMaximum": {"type": "number"},
                    "multipleOf": {"type": "number", "exclusiveMinimum": 0},
                    "minLength": {"$ref": "#/$defs/count"}, "maxLength": {"$ref": "#/$defs/count"},
                    "pattern": {"type": "string"},
                    "properties": {"$ref": "#/$defs/named"},
                    "required": {"type": "array", "items": {"type": "string"}},
                    "additionalProperties": {"$ref": "#/$defs/schema"}, "propertyNames": {"$ref": "#/$defs/schema"},
                    "minProperties": {"$ref": "#/$defs/count"}, "maxProperties": {"$ref": "#/$defs/count"},
                    "items": {"$ref": "#/$defs/schema"}, "prefixItems": {"$ref": "#/$defs/list"},
                    "minItems": {"$ref": "#/$defs/count"}, "maxItems": {"$ref": "#/$defs/count"},
                    "uniqueItems": {"type": "boolean"},
                    "anyOf": {"$ref": "#/$defs/list"}, "oneOf": {"$ref": "#/$defs/list"}, "allOf": {"$ref": "#/$defs/list"},
                    "$ref": {"type": "string"},
                    "$defs": {"$ref": "#/$defs/named"}, "definitions": {"$ref": "#/$defs/named"}
                }
            }, {"type": "boolean"}]}
        }
    }'::jsonb;
    v_problem text := stepwell._schema_problem(v_meta, p_schema, p_path);
    v_text text;
begin
    if v_problem is not null then
        return v_problem;
    end if;
    select format('%s: %s leads to nothing within the schema', p_path, r.ref) into v_problem
    from (select x #>> '{}' as ref from jsonb_path_query(p_schema, 'strict $.**."$ref"', silent => true) as x
        where jsonb_typeof(x) = 'string') as r
    where p_schema #> stepwell._schema_ref_path(r.ref) is null
    limit 1;
    for v_text in
        select x #>> '{}' from jsonb_path_query(p_schema, 'strict $.**.pattern', silent => true) as x
        where jsonb_typeof(x) = 'string' and v_problem is null
    loop
        begin
            perform '' ~ v_text;
        exception when invalid_regular_expression then
            v_problem := format('%s: the pattern %s cannot be read: %s', p_path, v_text, sqlerrm);
        end;
    end loop;
    return v_problem;
end
$$;
