-- What the evaluation of an expression costs at most, before it is evaluated: the shape of the path, counted over the
-- document. The unit is one value that is looked at or compared. A timer cannot bound it: PostgreSQL compares two lists
-- without looking for interrupts.

-- Why an expression is too costly for this document, in one line; null when it is within the limit: limits.expression_cost,
-- or limits.expression_cost_alone where no other work waits for it (p_is_alone). Most expressions pass on a bound that needs
-- only the size of the document; the others are counted.
-- Raises: what the cast to jsonpath raises for a text that is no path.
create or replace function stepwell._path_excess(p_document jsonb, p_path text, p_is_alone boolean default false) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_limit constant float8 := stepwell._limit(
        case when p_is_alone then 'limits.expression_cost_alone' else 'limits.expression_cost' end)::float8;
    -- A value takes at least four bytes of a document.
    v_size constant float8 := (pg_column_size(p_document) / 4 + 1)::float8;
    v_bare text;
    v_weight float8;
    v_cost float8;
begin
    if stepwell._regex_size(p_path) > 1000 then
        return format('%s has a repetition inside of a repetition that is too large; write a Python callable instead', p_path);
    end if;
    v_bare := regexp_replace(p_path, '"([^"\\]|\\.)*"', '""', 'g');
    v_weight := stepwell._path_weight(v_bare, p_document);
    if stepwell._path_bound(v_bare, v_size) * v_weight <= v_limit then
        return null;
    end if;
    -- A number with so many digits would take long by itself.
    v_cost := case when v_bare ~* '(^|[^a-z0-9_])[0-9][0-9._]*e\+?[0-9_]{4}' then 'infinity'
        else stepwell._path_cost(p_document, stepwell._path_sites(p_path), v_size, v_limit / v_weight) * v_weight end;
    if v_cost <= v_limit then
        return null;
    end if;
    return format('%s would look at %s values of this document; at most %s are accepted: compare lists with one value, or write'
        ' a Python callable instead', p_path, case when v_cost < 1e15 then v_cost::bigint::text else 'too many' end, v_limit);
end
$$;

-- How much longer than a comparison the steps of a path take for each value: to read a date or a time takes 15 times as long,
-- and to multiply numbers takes the square of their digits, which each operator makes more. p_bare: the path with
-- its strings emptied.
create or replace function stepwell._path_weight(p_bare text, p_document jsonb) returns float8
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
declare
    v_weight constant float8 := case when p_bare ~ '\.\s*(date|time)' then 15::float8 else 1::float8 end;
    v_operator_count constant int := case when p_bare ~ '[+*/%-]'
        then regexp_count(regexp_replace(p_bare, '\[\s*\*\s*\]|\.\s*\*+', '', 'g'), '[+*/%-]') else 0 end;
    v_digit_count float8 := 20::float8;
    v_text text;
begin
    if v_operator_count = 0 then
        return v_weight;
    end if;
    v_text := p_document::text;
    if v_text ~ '[0-9]{21}' then
        -- A text may become a number.
        v_digit_count := greatest(v_digit_count, case when p_bare ~ '\.\s*(number|decimal)' then least(octet_length(v_text), 131072)
            else stepwell._digits_most(p_document) end);
    end if;
    if p_bare ~ '[0-9]{21}' then
        v_digit_count := greatest(v_digit_count, octet_length(p_bare));
    end if;
    return v_weight * (1 + power(v_operator_count * v_digit_count, 2) / 20000);
end
$$;

-- A bound of the cost of a path from its text, with its strings emptied, and the size of the document: each $ and each @ finds
-- at most every value. They multiply where they meet: in one comparison, or in filters inside of each other. Infinite for
-- what the text does not show.
create or replace function stepwell._path_bound(p_bare text, p_size float8) returns float8
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
begin
    if p_bare ~* '/\*|like_regex|keyvalue|,|\*\*.*\*\*|[0-9.]e\+?[0-9_]{4}' then
        return 'infinity'::float8;
    end if;
    if p_bare ~ '\[[^\]]*[$@]|\?.*\?|\$.*\?.*\$' then
        return power(p_size, least(50, regexp_count(p_bare, '[$@]')));
    end if;
    return (
        select power(p_size, least(50, max(regexp_count(x.part, '[$@]')))) * count(*)
        from regexp_split_to_table(p_bare, '&&|\|\||\?') as x (part));
end
$$;

-- The cost of these sites over a document; it stops counting above the limit. p_size: the most values that the document
-- can have. What is counted is bounded by limits.expression_cost, also for a higher limit: a count is made in memory.
create or replace function stepwell._path_cost(p_document jsonb, p_sites jsonb, p_size float8, p_limit float8) returns float8
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_site record;
    v_count_limit constant float8 := greatest(least(p_limit, stepwell._limit('limits.expression_cost')), p_size) * 10;
    v_cost float8 := 0::float8;
    v_once float8;
begin
    for v_site in
        select s.*, stepwell._chain_path(s."left", s.scope) as left_path, stepwell._chain_path(s."right", s.scope) as right_path
        from jsonb_to_recordset(p_sites) as s ("left" text, "right" text, scope text, times text[], pattern text)
    loop
        -- Counting must not be what costs too much.
        if stepwell._chain_growth(array_to_string(array[v_site.left_path, v_site.right_path, v_site.scope] || v_site.times, ' '),
            p_size) > v_count_limit then
            return 'infinity'::float8;
        end if;
        v_once := case
            when v_site.pattern is not null then stepwell._regex_cost(p_document, v_site.left_path, v_site.pattern)
            when v_site."right" is null then stepwell._path_count(p_document, v_site.left_path)
            when v_site."left" like '@%' and v_site."right" like '@%'
                then stepwell._pairs_count(p_document, v_site.scope, v_site."left", v_site."right")
            else stepwell._path_count(p_document, v_site.left_path || '[*]')
                * stepwell._path_count(p_document, v_site.right_path || '[*]') end;
        -- What begins at $ is found again for each item of the scope.
        if v_site.scope is not null and v_site."left" like '$%' and coalesce(v_site."right", '$') like '$%' then
            v_once := v_once * stepwell._path_count(p_document, v_site.scope);
        end if;
        v_cost := v_cost + v_once * coalesce(
            (select exp(sum(ln(greatest(stepwell._path_count(p_document, t.path), 1)))) from unnest(v_site.times) as t (path)), 1);
        exit when v_cost > p_limit;
    end loop;
    return v_cost;
end
$$;

-- How many items a chain finds. An array is counted because jsonb_path_query takes quadratic time to return its rows.
create or replace function stepwell._path_count(p_document jsonb, p_path text) returns float8
language sql immutable
as $$
    select jsonb_array_length(jsonb_path_query_array(p_document, (p_path || '.type()')::jsonpath, '{}', true))
$$;

-- How many pairs a comparison of two chains of the same item makes, over all items of a scope. Where the items contain
-- each other (**), every left value may meet every right one.
create or replace function stepwell._pairs_count(p_document jsonb, p_scope text, p_left text, p_right text) returns float8
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select case when p_scope like '%.**%' then
        stepwell._path_count(p_document, p_scope || substr(p_left, 2) || '[*]')
            * stepwell._path_count(p_document, p_scope || substr(p_right, 2) || '[*]')
    else (
        select coalesce(sum(stepwell._path_count(i.item, '$' || substr(p_left, 2) || '[*]')
            * stepwell._path_count(i.item, '$' || substr(p_right, 2) || '[*]')), 0)
        from jsonb_array_elements(jsonb_path_query_array(p_document, p_scope::jsonpath, '{}', true)) as i (item)) end
$$;

-- How many items chains can find at most in a document with this many values, without looking at it: each comma of a
-- subscript repeats items, keyvalue() makes three of one, a second ** finds the same value at every depth.
create or replace function stepwell._chain_growth(p_chains text, p_size float8) returns float8
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select exp(least(700, ln(3) * regexp_count(c.bare, 'keyvalue') + ln(2) * regexp_count(c.bare, ',')
        + ln(p_size) * greatest(regexp_count(c.bare, '\*\*'), 1)))
    from (select regexp_replace(p_chains, '"([^"\\]|\\.)*"', '', 'g')) as c (bare)
$$;

-- What it costs to match the texts that a chain finds with a pattern.
create or replace function stepwell._regex_cost(p_document jsonb, p_path text, p_pattern text) returns float8
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select coalesce(sum(stepwell._regex_steps(p_pattern, x.found)), 0)
    from jsonb_array_elements_text(jsonb_path_query_array(p_document, (p_path || '[*] ? (@.type() == "string")')::jsonpath, '{}', true))
        as x (found)
$$;
