-- No event is in a month of the log twice. An index over all months cannot say this, because it would need the time; so
-- each month has a unique index of its own. It replaces the plain index on the same columns: writes cost the same.
do $$
declare
    v_month text;
begin
    for v_month in
        select c.relname
        from pg_inherits as i
        inner join pg_class as c on i.inhrelid = c.oid
        where i.inhparent = 'stepwell.event_log'::regclass
        order by c.relname
    loop
        begin
            execute format('create unique index on stepwell.%I (tenant_id, tx, event_id)', v_month);
        exception when unique_violation then
            -- A log that somebody changed must not stop the upgrade: audit verify names the event that is there twice.
            raise warning '% has an event twice: run stepwell audit verify', v_month;
            execute format('create index on stepwell.%I (tenant_id, tx, event_id)', v_month);
        end;
    end loop;
end
$$;
drop index stepwell.events_by_position;
