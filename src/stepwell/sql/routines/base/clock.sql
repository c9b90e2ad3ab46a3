-- The only clock of the engine. No time of a worker's own clock is ever used.

-- The present time: real time, plus the shift that a test may have written to clock_shift.
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
