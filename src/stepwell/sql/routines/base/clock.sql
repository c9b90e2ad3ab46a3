-- The only clock of the engine. No time of a worker's own clock is ever used.

-- The present time: real time, or the clock of a test: moved by the shift in clock_shift, and stopped where it says so.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.now() returns timestamptz
language plpgsql volatile parallel safe
set search_path = stepwell, pg_temp
as $$
begin
    return coalesce((select coalesce(c.stopped_at, clock_timestamp()) + c.shift from stepwell.clock_shift as c),
        clock_timestamp());
end
$$;
