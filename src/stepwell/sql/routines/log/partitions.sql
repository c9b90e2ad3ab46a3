-- The table of the event log: one partition for each month. Nobody can change or delete an event.

-- Creates the monthly partitions of event_log, from the month of p_from (default: this month) to n months ahead. Keepers,
-- workers when they start, migrations and the doctor call it before anything else is written.
-- Locks: event_log against others that create partitions, only while one is missing; nobody who reads or writes events
--   waits for it or is waited for.
-- Idempotency: yes.
-- Raises: nothing.
create or replace function stepwell.fn_partitions_ensure(p_from timestamptz default null, p_months_ahead int default null)
returns int
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_start constant timestamptz := date_trunc('month', coalesce(p_from, stepwell.now()), 'UTC');
    v_ahead constant int := coalesce(p_months_ahead, stepwell._limit('partition.months_ahead'));
    v_month timestamptz;
    v_name text;
    v_count int := 0;
begin
    for v_month in
        select generate_series(v_start at time zone 'UTC', (v_start at time zone 'UTC') + make_interval(months => v_ahead),
            interval '1 month') at time zone 'UTC'
    loop
        v_name := 'event_log_' || to_char(v_month at time zone 'UTC', 'YYYY_MM');
        if to_regclass('stepwell.' || v_name) is null then
            perform pg_advisory_xact_lock(hashtext('stepwell.event_log.partitions'));
            if to_regclass('stepwell.' || v_name) is null then
                -- Attached, not created as a partition: that would wait for every open transaction that wrote an event.
                execute format('create table stepwell.%I (like stepwell.event_log including all)', v_name);
                -- No event is there twice. An index of event_log itself could not say this without the time.
                execute format('create unique index on stepwell.%I (tenant_id, tx, event_id)', v_name);
                execute format('alter table stepwell.event_log attach partition stepwell.%I for values from (%L) to (%L)',
                    v_name, v_month, (v_month at time zone 'UTC' + interval '1 month') at time zone 'UTC');
                -- The triggers for rows are inherited from event_log; the trigger against truncate is not.
                execute format('create trigger event_log_is_append_only before truncate on stepwell.%I
                    for each statement execute function stepwell._event_log_refuse()', v_name);
                v_count := v_count + 1;
            end if;
        end if;
    end loop;
    return v_count;
end
$$;

-- Refuses every change and deletion of an event, for the owner too. Months older than their retention are dropped as
-- whole tables, which changes no event.
-- Raises: SW007.
create or replace function stepwell._event_log_refuse() returns trigger
language plpgsql
set search_path = stepwell, pg_temp
as $$
begin
    raise exception using errcode = 'SW007', message = format('events cannot be changed or deleted: %s is refused', lower(tg_op)),
        hint = 'append another event with the correction';
end
$$;
create or replace trigger event_log_is_append_only
before update or delete or truncate on stepwell.event_log
for each statement execute function stepwell._event_log_refuse();
-- A trigger for rows is inherited by every partition, so that no partition can be changed directly.
create or replace trigger event_log_rows_are_final
before update or delete on stepwell.event_log
for each row execute function stepwell._event_log_refuse();
