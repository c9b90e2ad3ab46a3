-- Strict reading, for rules of policies and guards: a missing key, a null and a list where one value is compared are neither
-- true nor false, so that nothing is allowed by a value that nobody looked at.

-- A path in strict mode, whatever mode its author wrote.
create or replace function stepwell._path_strict(p_path text) returns text
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select 'strict ' || regexp_replace(p_path, '^\s*(lax|strict)\y', '', 'i')
$$;

-- The document that a path reads strictly: without nulls, unless the path names null itself. A comparison of null with a
-- number would be false, not unknown.
create or replace function stepwell._path_document(p_document jsonb, p_path text) returns jsonb
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select case when regexp_replace(p_path, '"([^"\\]|\\.)*"', '""', 'g') ~ '\ynull\y' then p_document
        else jsonb_strip_nulls(p_document) end
$$;

-- The first name after $ in a path that is not known, however it is written; a variable with its $. Null when all are known.
-- Raises: what the cast to jsonpath raises for a text that is no path.
create or replace function stepwell._path_unknown_root(p_path text, p_known text[]) returns text
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
declare
    v_token record;
    v_root text;
begin
    -- PostgreSQL writes every key with quotes and every variable as $"name"; other texts are skipped whole.
    for v_token in
        select m.found[1] as variable, m.found[2] as root, m.found[3] as deeper
        from regexp_matches(p_path::jsonpath::text,
            '\$("(?:[^"\\]|\\.)*")|\$\.("(?:[^"\\]|\\.)*")|\$([?[])|"(?:[^"\\]|\\.)*"', 'g') as m (found)
    loop
        if v_token.variable is not null then
            return '$' || (v_token.variable::jsonb #>> '{}');
        end if;
        v_root := coalesce(v_token.root::jsonb #>> '{}', v_root);
        if v_token.root is not null and not v_root = any (p_known) then
            return v_root;
        end if;
        if v_token.deeper is not null then
            -- A filter of the whole document: its @ is the document too.
            select r.root::jsonb #>> '{}' into v_root
            from jsonb_to_recordset(stepwell._path_sites(p_path)) as s ("left" text, "right" text, scope text)
            cross join lateral (values (s."left"), (s."right")) as c (chain)
            cross join lateral (select substring(stepwell._chain_path(c.chain, s.scope)
                from '^\$(?:\[ ?\* ?\])*\.("(?:[^"\\]|\\.)*")')) as r (root)
            where not r.root::jsonb #>> '{}' = any (p_known)
            limit 1;
            if v_root is not null then
                return v_root;
            end if;
        end if;
    end loop;
    return null;
end
$$;

-- A path whose outer filters also let pass what they cannot tell: ?(P) becomes ?((P) || ((P) is unknown)). The text
-- that PostgreSQL prints for a path has quotes only around names and texts, and its brackets match.
create or replace function stepwell._path_doubtful(p_path text) returns text
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
declare
    v_text constant text := p_path::jsonpath::text;
    v_result text := '';
    v_condition text;
    v_token text;
    v_depth int := 0;
begin
    for v_token in select m.found[1] from regexp_matches(v_text, '("(?:[^"\\]|\\.)*"|\?\(|.)', 'g') as m (found) loop
        if v_depth = 0 then
            v_result := v_result || v_token;
            if v_token = '?(' then
                v_depth := 1;
                v_condition := '';
            end if;
        else
            v_depth := v_depth + case when v_token in ('(', '?(') then 1 when v_token = ')' then -1 else 0 end;
            if v_depth = 0 then
                v_result := v_result || format('(%1$s) || ((%1$s) is unknown))', v_condition);
            else
                v_condition := v_condition || v_token;
            end if;
        end if;
    end loop;
    return v_result;
end
$$;
