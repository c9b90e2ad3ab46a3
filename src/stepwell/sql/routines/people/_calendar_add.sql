-- Purpose: the moment at which so much working time of a calendar has passed. Hours are local: on a day the clocks change
--   they are as long as they really are; weekends are days without hours, holidays have none.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when there is no such calendar; SW006 when the time lies too far ahead, or the calendar has no hours.
create or replace function stepwell._calendar_add(
    p_tenant_id int, p_calendar_name text, p_from timestamptz, p_seconds numeric
) returns timestamptz
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_zone text;
    v_day date;
    v_left numeric := p_seconds;
    v_hours record;
    v_open_at timestamptz;
    v_length numeric;
begin
    select c.time_zone into v_zone from stepwell.business_calendar as c
    where c.tenant_id = p_tenant_id and c.calendar_name = p_calendar_name;
    if not found then
        raise exception using errcode = 'SW002', message = format('calendar %s does not exist', p_calendar_name);
    end if;
    v_day := (p_from at time zone v_zone)::date;
    for v_no in 0 .. stepwell._limit('limits.calendar_days')::int loop
        for v_hours in
            select (v_day + h.opens_at) at time zone v_zone as opens_at, (v_day + h.closes_at) at time zone v_zone as closes_at
            from stepwell.calendar_hours as h
            where h.tenant_id = p_tenant_id and h.calendar_name = p_calendar_name
                and h.iso_weekday = extract(isodow from v_day)
                and not exists (select from stepwell.calendar_holiday as d
                    where d.tenant_id = p_tenant_id and d.calendar_name = p_calendar_name and d.holiday = v_day)
            order by h.opens_at
        loop
            v_open_at := greatest(v_hours.opens_at, p_from);
            v_length := extract(epoch from v_hours.closes_at - v_open_at);
            if v_length >= v_left then
                return v_open_at + make_interval(secs => v_left::float8);
            end if;
            v_left := v_left - greatest(v_length, 0);
        end loop;
        v_day := v_day + 1;
    end loop;
    raise exception using errcode = 'SW006', message = format('calendar %s has no %s working seconds within %s days',
        p_calendar_name, p_seconds, stepwell._limit('limits.calendar_days'));
end
$$;
