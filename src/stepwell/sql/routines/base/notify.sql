-- Notifications to idle workers. They are only a hint: workers also poll, so a lost notification costs time, never
-- work. A trigger notifies for every row that is put into the queue, so no function can forget it. Two
-- functions claim from the queue after they have put rows into it (fn_job_report and fn_run_start_here). They set
-- stepwell.notifies to 'at_end' and notify at their end, when they have left something.

-- Notifies idle workers of these classes (null: of all classes) when the queue holds something for their classes. Only
-- sessions that claim call this: they know the gaps of the queue. PostgreSQL sends equal notifications of one commit once.
create or replace function stepwell._workers_wake(p_executor_class_ids int[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    if exists (select from stepwell.worker_session as s
            where s.closed_at is null and s.is_idle and (p_executor_class_ids is null or s.executor_class_ids && p_executor_class_ids))
        and not stepwell._classes_are_empty(coalesce(p_executor_class_ids,
            array(select c.executor_class_id from stepwell.executor_class as c))) then
        perform pg_notify('stepwell_ready', '');
    end if;
end
$$;

-- Notifies idle workers whatever the queue holds: room was made for something that may be in it.
create or replace function stepwell._workers_wake_all() returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    if exists (select from stepwell.worker_session as s where s.closed_at is null and s.is_idle) then
        perform pg_notify('stepwell_ready', '');
    end if;
end
$$;

-- Notifies idle workers when rows of this transaction are in the queue.
create or replace function stepwell._ready_notify() returns trigger
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    if exists (select from stepwell.worker_session as s where s.closed_at is null and s.is_idle)
        and exists (select from stepwell.job_ready as r where r.put_by = pg_current_xact_id()) then
        perform pg_notify('stepwell_ready', '');
    end if;
    return null;
end
$$;

create or replace trigger ready_rows_wake_workers
after insert on stepwell.job_ready
for each statement
when (current_setting('stepwell.notifies', true) is distinct from 'at_end')
execute function stepwell._ready_notify();
