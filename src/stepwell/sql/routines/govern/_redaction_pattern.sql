-- Purpose: the names under which secrets stand, as a regular expression.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing; a missing or unusable setting counts as every name, so that nothing leaks.
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
