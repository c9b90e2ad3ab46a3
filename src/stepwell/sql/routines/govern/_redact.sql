-- Purpose: a value fit to be kept: whatever stands under the name of a secret is replaced, references (env:…, file:…) are
--   not secrets and stay, and passwords in addresses go.
-- Locks: none.
-- Idempotency: a redacted value stays as it is.
-- Raises: nothing.
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
