-- Notifications to idle workers. They are only a hint: workers also poll, so a lost notification costs time, never
-- work.

-- Notifies idle workers of these classes (null: of all classes) when the queue holds something. PostgreSQL sends equal
-- notifications of one commit once.
create or replace function stepwell._workers_wake(p_class_ids int[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    if exists (select from stepwell.worker_session as s
            where s.closed_at is null and s.is_idle and (p_class_ids is null or s.class_ids && p_class_ids))
        and exists (select from stepwell.job_ready) then
        perform pg_notify('stepwell_ready', '');
    end if;
end
$$;
