-- What a regular expression costs, before it is matched. PostgreSQL matches most patterns in one pass over the text; these
-- functions find those for which it cannot.

-- How many steps it takes at most to match a text with a pattern: its length; the square of it where the pattern has
-- conditions on what comes before or after; two to the length where it refers back to a group; infinite where it is too
-- large to be read in time.
create or replace function stepwell._regex_steps(p_pattern text, p_text text) returns float8
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select case
        when stepwell._regex_size(p_pattern) > 1000 then 'infinity'
        when stepwell._regex_fault(p_pattern) = 'refers' then power(2, least(length(p_text), 100))
        when stepwell._regex_fault(p_pattern) = 'looks' then power(length(p_text)::float8, 2)
        else length(p_text)::float8 * (1 + length(p_pattern) / 100) end
$$;

-- Why a pattern may take more than linear time: it refers back to a group (refers), or has conditions on what comes before
-- or after (looks). Null for all others: PostgreSQL matches them without going back.
create or replace function stepwell._regex_fault(p_pattern text) returns text
language sql immutable
as $$
    select case when p_pattern ~ '(^|[^\\])(\\\\)*\\[1-9]' then 'refers'
        when p_pattern ~ '\(\?<?[=!]' then 'looks' end
$$;

-- How large a pattern becomes when its counted repetitions are written out: ((a{9}){9}) has 81 characters. Written for one
-- pattern; of a whole path it gives a bound for all patterns in it.
create or replace function stepwell._regex_size(p_pattern text) returns float8
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
declare
    v_part text;
    -- The size of each open group, and of what a repetition would repeat.
    v_open float8[] := array[0]::float8[];
    v_last float8 := 0::float8;
begin
    if p_pattern !~ '\{[0-9]' then
        return 0::float8;
    end if;
    for v_part in
        select m.found[1] from regexp_matches(p_pattern, '(\\.|\{[0-9]+(?:,[0-9]*)?\}|.)', 'g') as m (found)
    loop
        if v_part = '(' then
            v_open := v_open || 0::float8;
            v_last := 0::float8;
        elsif v_part = ')' then
            v_last := v_open[cardinality(v_open)];
            v_open := case when cardinality(v_open) > 1 then trim_array(v_open, 1) else array[0]::float8[] end;
            v_open[cardinality(v_open)] := v_open[cardinality(v_open)] + v_last;
        elsif v_part ~ '^\{' then
            v_last := v_last * greatest(1, (select max(m.found[1]::float8) from regexp_matches(v_part, '([0-9]+)', 'g') as m (found)));
            v_open[cardinality(v_open)] := v_open[cardinality(v_open)] + v_last;
        else
            v_last := 1::float8;
            v_open[cardinality(v_open)] := v_open[cardinality(v_open)] + 1;
        end if;
        exit when v_last > 1e9;
    end loop;
    return v_last + (select sum(x) from unnest(v_open) as x);
end
$$;

-- Why a pattern cannot be published, in one line; null when it can.
create or replace function stepwell._regex_refusal(p_pattern text) returns text
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select case
        when stepwell._regex_fault(p_pattern) = 'refers' then 'has a pattern that refers back to a group, which takes exponential time;'
            || ' write the pattern without \1 … \9, or write a Python callable'
        when stepwell._regex_fault(p_pattern) = 'looks' then 'has a pattern with a condition on what comes before or after it, which'
            || ' takes quadratic time; write the pattern without (?= (?! (?<= (?<!, or write a Python callable'
        when stepwell._regex_size(p_pattern) > 1000 then 'has a pattern that repeats a repetition too often; accepted: at most 1000'
            || ' characters when the counts are written out' end
$$;
