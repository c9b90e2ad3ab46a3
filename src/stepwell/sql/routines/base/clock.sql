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

-- Stops the clock of a test's database, at the present time or at the given one. From then on no time passes but by
-- fn_clock_move. Only the owner of the database may do it.
-- Locks: the row of clock_shift.
-- Idempotency: a repeat with the same time changes nothing.
-- Raises: nothing.
create or replace function stepwell.fn_clock_stop(p_at timestamptz) returns timestamptz
language sql volatile
set search_path = stepwell, pg_temp
as $$
    insert into stepwell.clock_shift (shift, stopped_at) values ('0', coalesce(p_at, stepwell.now()))
    on conflict (only_one) do update set shift = excluded.shift, stopped_at = excluded.stopped_at
    returning stopped_at
$$;

-- Moves the stopped clock of a test's database forward, for everybody. The sessions of workers stay alive, as they would
-- by their heartbeats. Only the owner of the database may do it. Returns the new time; null when the clock runs.
-- Locks: the row of clock_shift and all open worker sessions.
-- Idempotency: a time that is not later changes nothing.
-- Raises: nothing.
create or replace function stepwell.fn_clock_move(p_at timestamptz) returns timestamptz
language sql volatile
set search_path = stepwell, pg_temp
as $$
    with moved as (select greatest(p_at - stepwell.now(), '0') as by),
    alive as (
        update stepwell.worker_session as s
        set expires_at = s.expires_at + m.by, last_tick_at = s.last_tick_at + m.by, last_ok_at = s.last_ok_at + m.by
        from moved as m where s.closed_at is null
    )
    update stepwell.clock_shift as c set shift = c.shift + m.by from moved as m
    returning c.stopped_at + c.shift
$$;

-- Lets the clock of a test's database run again, from where it stands. Only the owner of the database may do it.
-- Locks: the row of clock_shift.
-- Idempotency: a running clock goes on.
-- Raises: nothing.
create or replace function stepwell.fn_clock_release() returns void
language sql volatile
set search_path = stepwell, pg_temp
as $$
    update stepwell.clock_shift set shift = stepwell.now() - clock_timestamp(), stopped_at = null
$$;

-- Gives a database whose clock was moved the real time again. Only the owner of the database may do it.
-- Locks: the row of clock_shift.
-- Idempotency: a clock that is real time stays so.
-- Raises: SW003 when the clock is ahead of real time: it would go back.
create or replace function stepwell.fn_clock_real() returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    if stepwell.now() > clock_timestamp() then
        raise exception using errcode = 'SW003', message = 'the clock is ahead of real time, and a clock does not go back';
    end if;
    delete from stepwell.clock_shift;
end
$$;
