-- Signals: values that say what to work on, and are not the data itself. Params of job graphs and payloads of routed jobs are
-- signals: ids and references, which anybody who sees the queue may read.

-- The name of a key without what only hides it: case, widths of letters, marks above and below them, letters of other scripts
-- that look the same, and signs beside letters and digits.
create or replace function stepwell._key_plain(p_key text) returns text
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select regexp_replace(case when p_key ~ '^[ -~]*$' then lower(p_key)
        else normalize(stepwell._name_skeleton(lower(normalize(p_key, nfkc))), nfkd) end, '[^a-z0-9]', '', 'g')
$$;

-- What matches a key that names data: one of these names, several of them as one word (raw_body), in the plural or with a number.
-- Null without names.
create or replace function stepwell._data_pattern(p_names text[]) returns text
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select '^(?:' || string_agg(case when k.name like '%y' then left(k.name, -1) || '(?:y|ies)' else k.name end, '|') || ')+(?:s|es)?[0-9]*$'
    from (select stepwell._key_plain(n.name) as name from unnest(p_names) as n (name)) as k
    where k.name <> ''
$$;

-- Why a value is no signal, in one line that names the field: it has a key that names data (graph.forbidden_keys), at any
-- depth, it contains a secret, or it is too large; null when it is one.
create or replace function stepwell._signal_problem(p_field text, p_value jsonb) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_limit constant int := stepwell._limit('limits.signal_bytes');
    v_text_limit constant int := stepwell._limit('limits.signal_value_bytes');
    -- As they are written, for scripts without Latin letters, and as what matches them in every spelling.
    v_names constant text[] := array(select lower(normalize(k.name, nfkc))
        from stepwell.dot_config as c
        cross join lateral jsonb_array_elements_text(c.config_value) as k (name)
        where c.config_key = 'graph.forbidden_keys');
    v_data constant text := stepwell._data_pattern(v_names);
    v_pattern constant text := stepwell._redaction_pattern();
    v_found record;
begin
    if stepwell._value_size(p_value) > v_limit then
        return stepwell._too_large(p_field, stepwell._value_size(p_value), v_limit);
    end if;
    if stepwell._redact(p_value, v_pattern) <> p_value then
        return format('%s: it contains what looks like a secret, and everybody who sees the queue may read it: pass a reference, such as env:NAME',
            p_field);
    end if;
    with recursive part as (
        select p_field as place, null::text as name, p_value as value
        union all
        select case when c.name is null then format('%s[%s]', p.place, c.place - 1) else p.place || '.' || left(c.name, 100) end, c.name, c.value
        from part as p
        cross join lateral (
            select e.key as name, e.value, 0::bigint as place
            from jsonb_each(case jsonb_typeof(p.value) when 'object' then p.value else '{}' end) as e
            union all
            select null, a.value, a.place
            from jsonb_array_elements(case jsonb_typeof(p.value) when 'array' then p.value else '[]' end)
                with ordinality as a (value, place)
        ) as c
    )
    select p.place, k.is_data, k.bytes into v_found
    from part as p
    cross join lateral (
        select coalesce(stepwell._key_plain(p.name) ~ v_data, false) or lower(normalize(p.name, nfkc)) = any (v_names) as is_data, greatest(octet_length(p.name),
            case when jsonb_typeof(p.value) = 'string' then octet_length(p.value #>> '{}') end) as bytes
    ) as k
    where k.is_data or k.bytes > v_text_limit
    order by p.place
    limit 1;
    if not found then
        return null;
    end if;
    return case when v_found.is_data
        then format('%s: this names data, and only signals are accepted: store the data elsewhere and pass a reference; not accepted are %s',
            v_found.place, array_to_string(v_names, ', '))
        else stepwell._too_large(v_found.place, v_found.bytes, v_text_limit) end;
end
$$;

-- Whether a name is that of the template generator, which emits graphs and never executes.
create or replace function stepwell._is_generator(p_name text) returns boolean
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select coalesce(p_name ~* '(^|[^a-z0-9])(mot|mother[^a-z0-9]*of[^a-z0-9]*task)([^a-z0-9]|$)', false)
$$;
