-- Purpose: when a step of this configuration is due, counted from a moment: an absolute time, a duration in seconds, or
--   a duration in working time of a calendar. Null without a deadline.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing; a calendar that is gone makes the duration plain time.
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
