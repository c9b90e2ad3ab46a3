-- Purpose: a numeric limit from dot_config.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing; a missing key counts as 1000 so that nothing is ever unbounded.
create or replace function stepwell._limit(p_key text) returns int
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return coalesce(
        (select (c.config_value #>> '{}')::int from stepwell.dot_config as c where c.config_key = p_key), 1000);
end
$$;
