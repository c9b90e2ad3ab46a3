-- Which expressions are not published: those whose cost grows faster than the document, whatever it will be. A version that
-- was published before this rule goes on: cost.sql bounds every evaluation.

-- Why an expression cannot be published, in one line; null when it can. What is linear can.
create or replace function stepwell._path_refusal(p_path text) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_limit constant int := stepwell._limit('limits.expression_bytes');
    v_reason text;
begin
    if octet_length(p_path) > v_limit then
        return format('%s bytes are too many; at most %s are accepted', octet_length(p_path), v_limit);
    end if;
    if stepwell._path_is_plain(p_path) then
        return null;
    end if;
    if stepwell._regex_size(p_path) > 1000 then
        return format('%s repeats a repetition too often; accepted: at most 1000 characters when the counts are written out', p_path);
    end if;
    select stepwell._site_refusal(s.site) into v_reason
    from jsonb_array_elements(stepwell._path_sites(p_path)) as s (site)
    where stepwell._site_refusal(s.site) is not null
    limit 1;
    return p_path || ' ' || v_reason;
exception when others then
    return format('%s is not an SQL/JSON path (%s)', p_path, sqlerrm);
end
$$;

-- Why the cost of a site grows faster than the document: it goes through a list once for each item of another, finds the
-- same values again and again, or has a pattern that takes more than linear time. Null when it does not.
create or replace function stepwell._site_refusal(p_site jsonb) returns text
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select case
        when stepwell._regex_refusal(s.pattern) is not null then stepwell._regex_refusal(s.pattern)
        when stepwell._chain_growth(c.left_path, 1) > 32 or stepwell._chain_growth(c.right_path, 1) > 32
            then 'finds the same values many times; accepted: at most five commas in its subscripts and three keyvalue()'
        when cardinality(array(select t from unnest(s.times) as t where stepwell._is_list(t)))
            + stepwell._is_list(s.scope)::int
            + (s."left" like '$%' and stepwell._is_list(s."left"))::int
            + (coalesce(s."right" like '$%', false) and stepwell._is_list(s."right"))::int
            + (s."left" like '@%' and coalesce(s."right" like '@%', false) and stepwell._is_list(s."left")
                and stepwell._is_list(s."right"))::int
            + (c.left_path ~ '\*\*.*\*\*')::int > 1
            then 'goes through a list once for each item of another, so that its cost grows with the square of the input;'
                || ' compare a list with one value, or write a Python callable' end
    from jsonb_to_record(p_site) as s ("left" text, "right" text, scope text, times text[], pattern text)
    cross join lateral (select stepwell._chain_path(s."left", s.scope), stepwell._chain_path(s."right", s.scope))
        as c (left_path, right_path)
$$;

-- Whether the author of a chain asked for more than one value.
create or replace function stepwell._is_list(p_chain text) returns boolean
language sql immutable
as $$
    select coalesce(regexp_replace(p_chain, '"([^"\\]|\\.)*"', '', 'g') ~ '\[\*\]|\.\*| to ', false)
$$;
