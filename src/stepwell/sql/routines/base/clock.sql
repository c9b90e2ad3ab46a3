-- The only clock of the engine. Worker clocks decide nothing.

-- The only clock. Real time, moved by the row in clock_shift when a test put one there.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.now() returns timestamptz
language plpgsql volatile parallel safe
set search_path = stepwell, pg_temp
as $$
begin
    return clock_timestamp() + coalesce((select c.shift from stepwell.clock_shift as c), interval '0');
end
$$;
