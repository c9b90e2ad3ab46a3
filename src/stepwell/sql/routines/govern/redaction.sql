-- Values and texts without secrets: only these are stored.

-- A value without secrets: what has the name of a secret is replaced, passwords in addresses are removed. References
-- (env:…, file:…) are no secrets and stay.
create or replace function stepwell._redact(p_value jsonb, p_pattern text) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    case jsonb_typeof(p_value)
        when 'object' then
            return (select coalesce(jsonb_object_agg(e.key, case
                when lower(e.key) ~ p_pattern and jsonb_typeof(e.value) not in ('null', 'boolean')
                    and not coalesce(e.value #>> '{}' ~ '^(env|file):', false) then '"[redacted]"'
                else stepwell._redact(e.value, p_pattern) end), '{}') from jsonb_each(p_value) as e);
        when 'array' then
            return (select coalesce(jsonb_agg(stepwell._redact(i.value, p_pattern) order by i.ord), '[]')
                from jsonb_array_elements(p_value) with ordinality as i (value, ord));
        when 'string' then
            return to_jsonb(stepwell._redact_text(p_value #>> '{}'));
        else
            return p_value;
    end case;
end
$$;

-- A text without secrets: no password in an address, no secret in its query, no bearer token.
create or replace function stepwell._redact_text(p_text text) returns text
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select regexp_replace(regexp_replace(regexp_replace(p_text,
        '(://[^/?#@[:space:]:]*):[^/?#@[:space:]]*@', '\1:[redacted]@', 'g'),
        '([?&][^=&#[:space:]]*(password|passwd|secret|token|api_?key|apikey|signature|sig)=)[^&#[:space:]]*',
        '\1[redacted]', 'gi'),
        '((bearer|basic)[[:space:]]+)[A-Za-z0-9._~+/=-]{8,}', '\1[redacted]', 'gi')
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
