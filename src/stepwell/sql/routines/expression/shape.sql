-- The shape of an expression: where its evaluation meets the values of a document. Read from the text that PostgreSQL
-- writes for a path: it has no comments, and every key is quoted. cost.sql counts a shape over a document, refuse.sql names
-- the shapes that are not published.

-- The sites of a path: every chain of accessors and every comparison, as a list of objects:
--   left, right  chains: from $ (the document), from @ (the item that a filter tests), or '' (one value). right only where
--                two operands are compared.
--   scope        the items that a filter tests, as a path from $; null outside of filters. The site is evaluated for each.
--   times        paths whose items each repeat the whole scope.
--   pattern      the regular expression that left is matched with.
-- A filter is left out of its chain: a chain finds at least what the path finds.
-- Raises: what the cast to jsonpath raises for a text that is no path.
create or replace function stepwell._path_sites(p_path text) returns jsonb
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
declare
    v_tokens constant text[] := array(
        select m.found[1] from regexp_matches(p_path::jsonpath::text,
            '("(?:[^"\\]|\\.)*"|\*\*|&&|\|\||[=!<>]=|<>|[0-9][0-9.]*|[a-z_]+|\S)', 'g') as m (found));
    -- What is open: the operand that is read, whether it is the result of an operation, the left side of a comparison.
    v_at jsonb := '{"times": []}'::jsonb;
    v_stack jsonb[] := '{}'::jsonb[];
    v_sites jsonb[] := '{}'::jsonb[];
    v_token text;
    v_step record;
    v_place int := 1;
begin
    while v_place <= cardinality(v_tokens) loop
        v_token := v_tokens[v_place];
        v_place := v_place + 1;
        if v_token in ('.', '[') and v_at ->> 'chain' is not null then
            v_step := stepwell._path_accessor(v_tokens, v_place - 1);
            v_place := v_step.next_place;
            if v_step.is_computed then
                v_stack := v_stack || stepwell._site_extend(v_at, v_step.suffix);
                v_at := stepwell._site_inside(v_at, false);
            else
                v_at := stepwell._site_extend(v_at, v_step.suffix);
            end if;
        elsif v_token = '?' then
            v_place := v_place + 1;
            v_at := stepwell._site_extend(v_at, '[ * ]');
            v_stack := v_stack || v_at;
            v_at := stepwell._site_inside(v_at, true);
        elsif v_token = '(' then
            v_stack := v_stack || (v_at || '{"is_group": true}');
            v_at := v_at - array['chain', 'is_single', 'left'];
        elsif v_token in (')', ']', '&&', '||', ',', 'to') then
            v_sites := v_sites || stepwell._sites_of(v_at);
            if v_token in (')', ']') and v_stack <> '{}' then
                v_at := stepwell._site_outside(v_stack[cardinality(v_stack)], v_at);
                v_stack := trim_array(v_stack, 1);
            else
                v_at := v_at - array['chain', 'is_single', 'left'];
            end if;
        elsif v_token in ('==', '!=', '<>', '<', '>', '<=', '>=') then
            v_sites := v_sites || stepwell._sites_of(v_at);
            v_at := v_at - array['chain', 'is_single']
                || jsonb_build_object('left', case when v_at ? 'is_single' then '' else coalesce(v_at ->> 'chain', '') end);
        elsif v_token = 'like_regex' then
            v_sites := v_sites || stepwell._sites_of(v_at || jsonb_build_object('pattern',
                case when v_tokens[v_place + 1] = 'flag' and v_tokens[v_place + 2] ~ 'q' then '' else v_tokens[v_place]::jsonb #>> '{}' end));
            v_place := v_place + case when v_tokens[v_place + 1] = 'flag' then 3 else 1 end;
            v_at := v_at - array['chain', 'is_single'];
        elsif v_token = 'starts' then
            v_sites := v_sites || stepwell._sites_of(v_at);
            v_place := v_place + 1;
        elsif v_token in ('+', '-', '*', '/', '%') and v_at ->> 'chain' is not null then
            v_sites := v_sites || stepwell._sites_of(v_at - 'left');
            v_at := v_at - 'chain' || '{"is_single": true}';
        elsif v_token in ('$', '@') and not (v_token = '$' and v_tokens[v_place] like '"%') then
            v_at := v_at || jsonb_build_object('chain', v_token);
        elsif v_token not in ('+', '-', '!', 'exists', 'is', 'unknown', 'strict', 'lax') then
            v_at := v_at || '{"chain": ""}';
        end if;
    end loop;
    return to_jsonb(v_sites || stepwell._sites_of(v_at));
end
$$;

-- The accessor that begins at a token: its text as part of a chain, and the token after it. A method or a filter is applied
-- to each element where it meets a list, and a computed subscript may be any element: these are written [ * ], with spaces,
-- because nobody asked for a list; [*] is what the author wrote. The tokens inside a computed subscript come next.
create or replace function stepwell._path_accessor(
    p_tokens text[], p_place int, out suffix text, out next_place int, out is_computed boolean
)
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
declare
    v_word constant text := p_tokens[p_place + 1];
    v_end int := p_place + 1;
begin
    is_computed := false;
    if p_tokens[p_place] = '[' then
        while p_tokens[v_end] ~ '^([0-9]+|last|to|,|\*)$' loop
            v_end := v_end + 1;
        end loop;
        is_computed := p_tokens[v_end] <> ']';
        suffix := case when is_computed then '[ * ]'
            else replace(array_to_string(p_tokens[p_place : v_end], ''), 'to', ' to ') end;
        next_place := case when is_computed then p_place + 1 else v_end + 1 end;
    elsif v_word = '**' and p_tokens[p_place + 2] = '{' then
        while p_tokens[v_end] <> '}' loop
            v_end := v_end + 1;
        end loop;
        suffix := '.' || replace(array_to_string(p_tokens[p_place + 1 : v_end], ''), 'to', ' to ');
        next_place := v_end + 1;
    elsif v_word like '"%' or v_word like '*%' then
        suffix := '.' || v_word;
        next_place := p_place + 2;
    else
        while p_tokens[v_end] <> ')' loop
            v_end := v_end + 1;
        end loop;
        suffix := case v_word when 'keyvalue' then '.keyvalue()' else '[ * ]' end;
        next_place := v_end + 1;
    end if;
end
$$;

-- The open operand with one more accessor; one value stays one value.
create or replace function stepwell._site_extend(p_at jsonb, p_suffix text) returns jsonb
language sql immutable
as $$
    select case when coalesce(p_at ->> 'chain', '') = '' then p_at || '{"chain": ""}'
        else p_at || jsonb_build_object('chain', (p_at ->> 'chain') || p_suffix) end
$$;

-- What is open inside a filter (its items are the scope), or inside a subscript (the chain before it repeats it).
create or replace function stepwell._site_inside(p_at jsonb, p_is_filter boolean) returns jsonb
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select case when not p_is_filter then jsonb_build_object('scope', p_at -> 'scope', 'times', p_at -> 'times' || to_jsonb(c.path))
        when p_at ->> 'chain' like '$%' and p_at ->> 'scope' is not null
            then jsonb_build_object('scope', c.path, 'times', p_at -> 'times' || (p_at -> 'scope'))
        else jsonb_build_object('scope', c.path, 'times', p_at -> 'times') end
    from (select stepwell._chain_path(p_at ->> 'chain', p_at ->> 'scope')) as c (path)
$$;

-- What is open after a bracket was closed: the operand before it or, after a group, what is in the group.
create or replace function stepwell._site_outside(p_before jsonb, p_at jsonb) returns jsonb
language sql immutable
as $$
    select case when not p_before ? 'is_group' then p_before
        else p_before - array['chain', 'is_group'] || case
            when p_at ? 'left' or not (p_at ? 'chain' or p_at ? 'is_single') then '{}'
            when p_at ? 'is_single' then '{"chain": ""}'
            else jsonb_build_object('chain', p_at -> 'chain') end end
$$;

-- A chain as a path from $. One value has the path of its scope.
create or replace function stepwell._chain_path(p_chain text, p_scope text) returns text
language sql immutable
as $$
    select case when p_chain like '$%' then p_chain else coalesce(p_scope, '$') || substr(coalesce(p_chain, ''), 2) end
$$;

-- The sites that end here: the chain of the operand, and the comparison whose right side it is.
create or replace function stepwell._sites_of(p_at jsonb) returns jsonb[]
language sql immutable
as $$
    select array_remove(array[
        case when p_at ->> 'chain' <> '' then
            p_at - array['chain', 'is_single', 'is_group'] || jsonb_build_object('left', p_at -> 'chain') end,
        case when p_at ->> 'left' <> '' and p_at ->> 'chain' <> '' and not p_at ? 'is_single' then
            p_at - array['chain', 'is_single', 'is_group'] || jsonb_build_object('right', p_at -> 'chain') end
    ], null)
$$;
