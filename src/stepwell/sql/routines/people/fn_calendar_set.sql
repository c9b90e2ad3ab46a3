-- Purpose: writes a business calendar: time zone, hours per weekday ([{"weekday": 1, "opens": "09:00", "closes": "17:00"}])
--   and holidays ({"2026-12-25": "Christmas"}); what was there before is replaced.
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
    perform stepwell._tenant_bound(p_tenant_id);
    if not exists (select from pg_timezone_names as z where z.name = p_time_zone) then
        raise exception using errcode = 'SW001', column = 'time_zone', hint = 'accepted is a name such as Asia/Ho_Chi_Minh',
            message = format('time_zone: %s is not known', p_time_zone);
    end if;
    if jsonb_typeof(p_hours) is distinct from 'array' or jsonb_array_length(p_hours) not between 1 and 70 then
        raise exception using errcode = 'SW001', column = 'hours', message = 'hours: a list of 1 to 70 entries is accepted';
    end if;
    insert into stepwell.business_calendar as c (tenant_id, calendar_name, time_zone, created_at)
    values (p_tenant_id, p_calendar_name, p_time_zone, stepwell.now())
    on conflict (tenant_id, calendar_name) do update set time_zone = excluded.time_zone;
    delete from stepwell.calendar_hours as h where h.tenant_id = p_tenant_id and h.calendar_name = p_calendar_name;
    delete from stepwell.calendar_holiday as d where d.tenant_id = p_tenant_id and d.calendar_name = p_calendar_name;
    insert into stepwell.calendar_hours (tenant_id, calendar_name, iso_weekday, opens_at, closes_at)
    select p_tenant_id, p_calendar_name, x.weekday, x.opens, x.closes
    from jsonb_to_recordset(p_hours) as x (weekday smallint, opens time, closes time);
    insert into stepwell.calendar_holiday (tenant_id, calendar_name, holiday, label)
    select p_tenant_id, p_calendar_name, x.key::date, x.value from jsonb_each_text(p_holidays) as x;
exception when check_violation or not_null_violation or unique_violation or data_exception then
    raise exception using errcode = 'SW001', column = 'hours', message = format('hours: %s', sqlerrm),
        hint = 'accepted are {"weekday": 1 to 7, "opens": "09:00", "closes": "17:00"} and {"2026-12-25": "a label"}';
end
$$;
