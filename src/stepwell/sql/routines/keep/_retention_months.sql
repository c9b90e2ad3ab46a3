-- Purpose: drops the months of the event log that lie wholly before the retention. A month that is in use right now is
--   left for the next sweep.
-- Locks: event_log exclusively, for at most two seconds of waiting each.
-- Idempotency: yes.
-- Raises: nothing.
create or replace function stepwell._retention_months(p_now timestamptz) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
set lock_timeout = '2s'
as $$
declare
    v_cutoff constant timestamptz := p_now - make_interval(days => stepwell._limit('retention.event_log_days'));
    v_name text;
    v_count bigint := 0;
begin
    for v_name in
        select c.relname
        from pg_inherits as i
        inner join pg_class as c on i.inhrelid = c.oid
        where i.inhparent = 'stepwell.event_log'::regclass and c.relname ~ '^event_log_\d{4}_\d{2}$'
            and (to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month') at time zone 'UTC' <= v_cutoff
        order by c.relname
    loop
        begin
            execute format('drop table stepwell.%I', v_name);
            v_count := v_count + 1;
        exception when lock_not_available then
            raise notice 'month % of the event log is in use; the next sweep tries again', v_name;
        end;
    end loop;
    return v_count;
end
$$;
