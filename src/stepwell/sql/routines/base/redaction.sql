-- Values and texts without secrets: only these are stored. redaction.py does the same in workers and their logs.

-- A value without secrets: what has the name of a secret is replaced, also in lists of names and values such as headers, and
-- in texts what looks like one. References (env:…, file:…), null, true and false say nothing and stay.
create or replace function stepwell._redact(p_value jsonb, p_pattern text) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_is_named boolean;
begin
    case jsonb_typeof(p_value)
        when 'object' then
            v_is_named := exists (select from unnest(array['name', 'key', 'header', 'field']) as n (name)
                where jsonb_typeof(p_value -> n.name) = 'string' and lower(p_value ->> n.name) ~ p_pattern);
            return (select coalesce(jsonb_object_agg(e.key, case
                when lower(e.key) ~ p_pattern or v_is_named and e.key in ('value', 'values', 'content', 'data')
                    then stepwell._hidden(e.value)
                else stepwell._redact(e.value, p_pattern) end), '{}') from jsonb_each(p_value) as e);
        when 'array' then
            if jsonb_array_length(p_value) = 2 and jsonb_typeof(p_value -> 0) = 'string' and lower(p_value ->> 0) ~ p_pattern then
                return jsonb_build_array(stepwell._redact(p_value -> 0, p_pattern), stepwell._hidden(p_value -> 1));
            end if;
            return (select coalesce(jsonb_agg(stepwell._redact(i.value, p_pattern) order by i.ord), '[]')
                from jsonb_array_elements(p_value) with ordinality as i (value, ord));
        when 'string' then
            return to_jsonb(stepwell._redact_text(p_value #>> '{}'));
        else
            return p_value;
    end case;
end
$$;

-- What stands for a value with the name of a secret.
create or replace function stepwell._hidden(p_value jsonb) returns jsonb
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select case when jsonb_typeof(p_value) in ('null', 'boolean') or p_value #>> '{}' ~ '^(env|file):' then p_value
        else '"[redacted]"' end
$$;

-- A text without secrets: private keys, headers, passwords in addresses, bearer tokens, values after the name of a secret,
-- and tokens by their shapes.
create or replace function stepwell._redact_text(p_text text) returns text
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(p_text,
        '-----BEGIN [A-Z ]*?PRIVATE KEY-----.*?(-----END [A-Z ]*?PRIVATE KEY-----|\Z)', '[redacted]', 'g'),
        '(authorization|cookie)(["'']?\s*[:=](?!\s*["'']?(?:\[redacted|\*\*\*))\s*["'']?)[^\r\n"'']{4,}', '\1\2[redacted]', 'gi'),
        '(://[^/?#@\s:]*):[^/?#@\s]*@', '\1:[redacted]@', 'gi'),
        '((bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}', '\1[redacted]', 'gi'),
        '((?:password|passwd|passphrase|passcode|pwd|secret|api_?-?key|(?:access|private|secret|signing)[_-]?key'
        '|credential)s?|token|session(?:[_-]?id)?|auth|signature|sig)(["'']?\s*[:=](?!\s*["'']?(?:\[redacted|\*\*\*|env:|file:))\s*)'
        '(?:(")(?:[^"\\\r\n]|\\[^\r\n])+|('')(?:[^''\\\r\n]|\\[^\r\n])+|[^\s"''&,;}\]#]{4,})', '\1\2\3\4[redacted]', 'gi'),
        'eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]+)?|(AKIA|ASIA)[0-9A-Z]{16}|xox[a-z]-[A-Za-z0-9-]{8,}'
        '|xapp-[A-Za-z0-9-]{8,}|gh[opsur]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}'
        '|sk-[A-Za-z0-9_-]{20,}|(sk|rk|pk)_(live|test)_[A-Za-z0-9]{12,}|AIza[0-9A-Za-z_-]{30,}|npm_[A-Za-z0-9]{30,}'
        '|pypi-[A-Za-z0-9_-]{16,}|sw_[0-9a-f]{64}', '[redacted]', 'g')
$$;

-- The names of secrets, as a regular expression. A missing or invalid setting counts as every name, so that nothing
-- leaks.
create or replace function stepwell._redaction_pattern() returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_pattern constant text := (
        select c.config_value #>> '{}' from stepwell.dot_config as c where c.config_key = 'redaction.key_pattern');
begin
    perform '' ~ v_pattern;
    return coalesce(v_pattern, '.');
exception when others then
    return '.';
end
$$;

-- Refuses a name that contains a secret: a name cannot lose a part of itself, and everybody reads names.
-- Raises: SW001 naming the field.
create or replace function stepwell._secret_refuse(p_field text, p_text text) returns void
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
begin
    if stepwell._redact_text(p_text) <> p_text then
        raise exception using errcode = 'SW001', column = p_field,
            message = format('%s: it contains what looks like a secret; a name that everybody may read is accepted', p_field);
    end if;
end
$$;
