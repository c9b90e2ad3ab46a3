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
            v_is_named := exists (select from jsonb_each(p_value) as n
                where lower(n.key) in ('name', 'key', 'k', 'header', 'field', 'parameter', 'param', 'property', 'variable')
                    and jsonb_typeof(n.value) = 'string' and lower(n.value #>> '{}') ~ p_pattern);
            return (select coalesce(jsonb_object_agg(stepwell._redact_text(e.key), case
                when lower(e.key) ~ p_pattern
                    or v_is_named and lower(e.key) in ('value', 'values', 'val', 'v', 'content', 'data', 'text')
                    then stepwell._hidden(e.value)
                else stepwell._redact(e.value, p_pattern) end), '{}') from jsonb_each(p_value) as e);
        when 'array' then
            -- A pair of name and value, or an option of a command and its value.
            return (select coalesce(jsonb_agg(case when jsonb_typeof(i.before) = 'string' and lower(i.before #>> '{}') ~ p_pattern
                        and (i.length = 2 or i.before #>> '{}' like '-%')
                    then stepwell._hidden(i.value) else stepwell._redact(i.value, p_pattern) end order by i.ord), '[]')
                from (select a.value, a.ord, lag(a.value) over (order by a.ord) as before, jsonb_array_length(p_value) as length
                    from jsonb_array_elements(p_value) with ordinality as a (value, ord)) as i);
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
-- and tokens by their shapes. Most texts are null: the function is not called for them. Of the others, most have nothing of
-- all this: a cheap look for what a pattern cannot do without comes before the pattern, whose compilation alone takes
-- milliseconds of each session.
create or replace function stepwell._redact_text(p_text text) returns text
language plpgsql immutable strict
set search_path = stepwell, pg_temp
as $$
declare
    v_has_sign constant boolean := p_text ~ '[:=]';
begin
    if strpos(p_text, '-----BEGIN ') > 0 then
        p_text := regexp_replace(p_text,
            '-----BEGIN [A-Z ]*?PRIVATE KEY(?: BLOCK)?-----.*?(-----END [A-Z ]*?PRIVATE KEY(?: BLOCK)?-----|\Z)', '[redacted]', 'g');
    end if;
    if v_has_sign and p_text ~* 'authorization|cookie' then
        p_text := regexp_replace(p_text,
            '(authorization|cookie)(\\*["'']?\s*[:=](?!\s*\\*["'']?(?:\[redacted|\*\*\*))\s*\\*["'']?)[^\r\n"'']{4,}', '\1\2[redacted]', 'gi');
    end if;
    if strpos(p_text, '://') > 0 then
        p_text := regexp_replace(p_text, '(://[^/?#@\s:]*):[^/?#@\s]*@', '\1:[redacted]@', 'gi');
    end if;
    if p_text ~* 'bearer|basic' then
        p_text := regexp_replace(p_text, '((bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}', '\1[redacted]', 'gi');
    end if;
    if v_has_sign and p_text ~* 'pass|pwd|secret|key|credential|token|session|auth|sig' then
        p_text := regexp_replace(p_text,
            '((?:password|passwd|passphrase|passcode|pwd|secret|api_?-?key|(?:access|private|secret|signing)[_-]?key'
            '|credential)s?|token|session(?:[_-]?id)?|auth|signature|sig)(\\*["'']?\s*[:=](?!\s*\\*["'']?(?:\[redacted|\*\*\*|env:|file:))\s*)'
            '(?:(\\+["''])[^"''\r\n]+|(")(?:[^"\\\r\n]|\\[^\r\n])+|('')(?:[^''\\\r\n]|\\[^\r\n])+|[^\s"''&,;}\]#]{4,})', '\1\2\3\4\5[redacted]', 'gi');
    end if;
    if p_text ~* '-[a-z0-9_-]*(pass|pwd|secret|token|key|auth)' then
        p_text := regexp_replace(p_text,
            '((?:^|\s)--?(?:[a-z0-9]+[_-])*(?:password|passwd|passphrase|pwd|secret|token|api-?key|auth)\s+["'']?)(?![-\["''])[^\s"'']{6,}',
            '\1[redacted]', 'gi');
    end if;
    if p_text ~ 'eyJ|A[KSBC][ICA]A|xox|xapp-|gh[opsur]_|github_pat_|gl[a-z]+-|sk-|[srp]k_|AIza|npm_|pypi-|sw[a-z]?_|hooks\.slack|SG\.|ya29\.|whsec_|hf_|do[opr]_v1|shp[a-z]|AGE-S|AccountKey' then
        p_text := regexp_replace(p_text,
            'eyJ[A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]*){1,4}|(AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}|xox[a-z][.-][A-Za-z0-9.-]{8,}'
            '|xapp-[A-Za-z0-9-]{8,}|gh[opsur]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|gl[a-z]{2,4}-[A-Za-z0-9_-]{16,}'
            '|sk-[A-Za-z0-9_-]{20,}|(sk|rk|pk)_(live|test)_[A-Za-z0-9]{12,}|AIza[0-9A-Za-z_-]{30,}|npm_[A-Za-z0-9]{30,}'
            '|pypi-[A-Za-z0-9_-]{16,}|sw[a-z]?_[0-9a-f]{64}|hooks\.slack\.com/[a-z]+/[A-Za-z0-9/_-]{20,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}'
            '|ya29\.[A-Za-z0-9_-]{20,}|whsec_[A-Za-z0-9]{20,}|hf_[A-Za-z0-9]{30,}|do[opr]_v1_[0-9a-f]{64}|shp[a-z]{2}_[0-9a-fA-F]{32}'
            '|AGE-SECRET-KEY-1[0-9A-Z]{50,}|AccountKey=[A-Za-z0-9+/]{20,}', '[redacted]', 'g');
    end if;
    return p_text;
end
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
