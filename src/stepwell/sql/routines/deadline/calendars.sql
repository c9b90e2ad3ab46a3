-- Business calendars, and when a step is due.

-- Writes a business calendar: time zone, hours for each weekday ([{"weekday": 1, "opens": "09:00", "closes": "17:00"}])
-- and holidays ({"2026-12-25": "Christmas"}). It replaces what was there before.
-- Locks: the calendar's row.
-- Idempotency: yes.
-- Raises: SW001 for an unknown time zone or hours that cannot be read; SW007 for another tenant.
create or replace function stepwell.fn_calendar_set(
    p_tenant_id int, p_calendar_name text, p_time_zone text, p_hours jsonb, p_holidays jsonb default '{}'
) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._verb_check(p_tenant_id, 'principal.change');
    if not exists (select from pg_timezone_names as z where z.name = p_time_zone) then
        raise exception using errcode = 'SW001', column = 'time_zone', hint = 'accepted is a name such as Asia/Ho_Chi_Minh',
            message = format('time_zone: %s is unknown', p_time_zone);
    end if;
    if jsonb_typeof(p_hours) is distinct from 'array' or jsonb_array_length(p_hours) not between 1 and 70 then
        raise exception using errcode = 'SW001', column = 'hours', message = 'hours: a list of 1 to 70 entries is accepted';
    end if;
    perform stepwell._secret_refuse('calendar_name', p_calendar_name);
    insert into stepwell.business_calendar as c (tenant_id, calendar_name, time_zone, created_at)
    values (p_tenant_id, p_calendar_name, p_time_zone, stepwell.now())
    on conflict (tenant_id, calendar_name) do update set time_zone = excluded.time_zone;
    delete from stepwell.calendar_hours as h where h.tenant_id = p_tenant_id and h.calendar_name = p_calendar_name;
    delete from stepwell.calendar_holiday as d where d.tenant_id = p_tenant_id and d.calendar_name = p_calendar_name;
    insert into stepwell.calendar_hours (tenant_id, calendar_name, iso_weekday, opens_at, closes_at)
    select p_tenant_id, p_calendar_name, x.weekday, x.opens, x.closes
    from jsonb_to_recordset(p_hours) as x (weekday smallint, opens time, closes time);
    insert into stepwell.calendar_holiday (tenant_id, calendar_name, holiday, label)
    select p_tenant_id, p_calendar_name, x.key::date, stepwell._redact_text(x.value) from jsonb_each_text(p_holidays) as x;
exception when check_violation or not_null_violation or unique_violation or data_exception then
    raise exception using errcode = 'SW001', column = 'hours', message = format('hours: %s', sqlerrm),
        hint = 'accepted are {"weekday": 1 to 7, "opens": "09:00", "closes": "17:00"} and {"2026-12-25": "a label"}';
end
$$;

-- When a step with this configuration is due, counted from a given time: at an absolute time, after a duration in
-- seconds, or after a duration in working hours of a calendar. Null without a deadline. When the calendar does not
-- exist any more, all hours count.
create or replace function stepwell._deadline_of(p_tenant_id int, p_config jsonb, p_from timestamptz) returns timestamptz
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_seconds constant numeric := case jsonb_typeof(p_config -> 'deadline')
        when 'number' then (p_config ->> 'deadline')::numeric end;
begin
    if p_config ? 'due_at' then
        return (p_config ->> 'due_at')::timestamptz;
    end if;
    if p_config ? 'calendar' and v_seconds is not null then
        begin
            return stepwell._calendar_add(p_tenant_id, p_config ->> 'calendar', p_from, v_seconds);
        exception when sqlstate 'SW002' or sqlstate 'SW006' then
            null;
        end;
    end if;
    return p_from + make_interval(secs => v_seconds::float8);
end
$$;

-- The time at which so many working hours of a calendar have passed. Hours are local time and as long as they really
-- are on a day when the clocks change; weekends are days without hours, holidays have none.
-- Raises: SW002 when there is no such calendar; SW006 when the time is too far ahead, or the calendar has no hours.
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
        raise exception using errcode = 'SW002', column = 'calendar', message = format('calendar %s does not exist', p_calendar_name),
            hint = coalesce(stepwell.fn_name_suggest(p_tenant_id, 'calendar', p_calendar_name), '');
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
