-- Purpose: keeps the event log append-only, for its owner too: a written event is neither changed nor deleted. Months
--   past their retention are dropped as whole tables, which is no change of an event.
-- Locks: none.
-- Idempotency: refuses always.
-- Raises: SW007.
create or replace function stepwell._event_log_refuse() returns trigger
language plpgsql
set search_path = stepwell, pg_temp
as $$
begin
    raise exception using errcode = 'SW007', message = format('event_log is append-only: %s is refused', lower(tg_op)),
        hint = 'append another event that corrects it';
end
$$;
create or replace trigger event_log_is_append_only
before update or delete or truncate on stepwell.event_log
for each statement execute function stepwell._event_log_refuse();
-- A trigger per row is inherited by every month, so that none can be changed behind the back of the log.
create or replace trigger event_log_rows_are_final
before update or delete on stepwell.event_log
for each row execute function stepwell._event_log_refuse();
