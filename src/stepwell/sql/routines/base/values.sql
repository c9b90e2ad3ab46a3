-- Values that people and workers give: inputs, outputs, payloads, checkpoints. A worker must be able to read each of them,
-- because it receives the values of many units in one answer. PostgreSQL accepts more than a parser of JSON: lists inside of
-- lists a thousand times, and 1e100000, which is sent with all its zeros.

-- What is said of a value that is larger than allowed: the size, the limit, and what to do instead.
create or replace function stepwell._too_large(p_what text, p_bytes bigint, p_limit int) returns text
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select format('%s: %s bytes; at most %s bytes are accepted: store what is large elsewhere and pass a reference'
        ' (in Python: sw.Ref)', p_what, p_bytes, p_limit)
$$;

-- How many bytes a value has when it is sent: a number with an exponent is short only where it is stored. The text of a large
-- value with such numbers is not made, because it may have gigabytes: the answer is then the highest number. This function and
-- the next one have no setting of their own, so that they become a part of the query that asks for ten thousand sizes.
create or replace function stepwell._sent_size(p_value jsonb) returns int
language sql stable
as $$
    select case when pg_column_size(p_value) > 8000 and
        jsonb_path_exists(p_value, 'strict $.** ? (@ > 1e1000 || @ < -1e1000 || (@ != 0 && @ > -1e-1000 && @ < 1e-1000))', '{}', true)
        then 2147483647 else octet_length(p_value::text) end
$$;

-- How many bytes a value has, stored or sent, whichever is more.
create or replace function stepwell._value_size(p_value jsonb) returns int
language sql stable
as $$
    select greatest(pg_column_size(p_value), stepwell._sent_size(p_value))
$$;

-- Why one of these values cannot be read by every worker; null when all can be. Most values are too short for it: a level
-- of nesting takes at least two characters, a digit one.
create or replace function stepwell._values_problem(p_what text, p_values jsonb[]) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    -- Not a setting, because a path is a constant: the depth that every parser reads, and what composed results add to it.
    v_depth_limit constant int := 64;
    v_digit_limit constant int := stepwell._limit('limits.number_digits');
    v_found record;
begin
    select
        bool_or(octet_length(t.text) > 2 * v_depth_limit
            and jsonb_path_exists(v.value, 'strict $.**{65}', '{}', true)) as is_deep,
        bool_or(octet_length(t.text) > v_digit_limit
            and octet_length(t.text) - octet_length(translate(t.text, '0123456789', '')) > v_digit_limit
            and stepwell._digits_most(v.value) > v_digit_limit) as is_long
    into v_found
    from unnest(p_values) as v (value)
    cross join lateral (select v.value::text as text offset 0) as t;
    return case
        when v_found.is_deep then format('%s: lists and objects are nested too deep; at most %s levels are accepted', p_what, v_depth_limit)
        when v_found.is_long then format('%s: a number is too long; at most %s digits are accepted: give it as a text', p_what,
            v_digit_limit) end;
end
$$;

-- The characters of the longest number in a value; null when there is no number.
create or replace function stepwell._digits_most(p_value jsonb) returns int
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select max(octet_length(n.number::text))
    from jsonb_array_elements(jsonb_path_query_array(p_value, 'strict $.** ? (@.type() == "number")', '{}', true)) as n (number)
$$;

-- Refuses values that are larger than the limit of this key, or that some workers cannot read.
-- Raises: SW006.
create or replace function stepwell._values_check(p_field text, p_what text, p_values jsonb[], p_key text) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_bytes constant int := (select max(stepwell._value_size(v.value)) from unnest(p_values) as v (value));
    v_problem text;
begin
    if v_bytes <= 100 then
        return;
    end if;
    if v_bytes > stepwell._limit(p_key) then
        v_problem := stepwell._too_large(p_what, v_bytes, stepwell._limit(p_key));
    else
        v_problem := stepwell._values_problem(p_what, p_values);
    end if;
    if v_problem is not null then
        raise exception using errcode = 'SW006', column = p_field, message = v_problem;
    end if;
end
$$;
