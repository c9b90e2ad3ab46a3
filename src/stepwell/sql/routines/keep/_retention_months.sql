-- Purpose: drops the months of the event log that lie wholly before the retention, and remembers them as archived. A
--   month that is in use right now, or holds an event that a chain has not sealed yet, is left for the next sweep.
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
    v_seals constant boolean := stepwell._limit('audit.seal_interval_seconds') > 0;
    v_name text;
    v_is_unsealed boolean;
    v_months date[] := '{}';
begin
    for v_name in
        select c.relname
        from pg_inherits as i
        inner join pg_class as c on i.inhrelid = c.oid
        where i.inhparent = 'stepwell.event_log'::regclass and c.relname ~ '^event_log_\d{4}_\d{2}$'
            and (to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month') at time zone 'UTC' <= v_cutoff
        order by c.relname
    loop
        execute format('select exists (select from stepwell.audit_chain as c where exists (select from stepwell.%I as e
            where e.tenant_id = c.tenant_id and (e.tx, e.event_id) > (c.last_tx, c.last_event_id)))', v_name)
        into v_is_unsealed;
        if v_is_unsealed and v_seals then
            raise notice 'month % of the event log is not sealed yet; the next sweep tries again', v_name;
            continue;
        end if;
        begin
            execute format('drop table stepwell.%I', v_name);
            v_months := v_months || to_date(right(v_name, 7), 'YYYY_MM');
        exception when lock_not_available then
            raise notice 'month % of the event log is in use; the next sweep tries again', v_name;
        end;
    end loop;
    if cardinality(v_months) > 0 then
        perform stepwell._audit_archive(v_months, p_now);
    end if;
    return cardinality(v_months);
end
$$;
