-- Purpose: why a match expression cannot be used: too long, no SQL/JSON path, a variable, or a root that no action has (a
--   mistyped root would never match, and a rule that never matches denies nothing).
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing; null when it can be used.
create or replace function stepwell._policy_match_problem(p_match text) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_known constant text[] := '{tenant,workflow,step,run_id,connector,operation,target,fields,reversible,writes,
        reverses,actor,started_by,attempt,input}';
    v_bare text;
    v_word text;
begin
    if octet_length(p_match) > stepwell._limit('limits.expression_bytes') then
        return format('an expression has at most %s bytes', stepwell._limit('limits.expression_bytes'));
    end if;
    if stepwell._jsonpath_problem(p_match) is not null then
        return 'not a SQL/JSON path: ' || stepwell._jsonpath_problem(p_match);
    end if;
    v_bare := regexp_replace(p_match, '"([^"\\]|\\.)*"', '""', 'g');
    v_word := substring(v_bare from '\$([A-Za-z_][A-Za-z0-9_]*)');
    if v_word is not null then
        return format('there are no variables; $%s is not accepted, $.%s may be meant', v_word, v_word);
    end if;
    for v_word in select m.found[1] from regexp_matches(v_bare, '\$\s*\.\s*([A-Za-z_][A-Za-z0-9_]*)', 'g') as m (found) loop
        if not v_word = any (v_known) then
            return format('an action has no %s; it has %s', v_word, array_to_string(v_known, ', '));
        end if;
    end loop;
    return null;
end
$$;
