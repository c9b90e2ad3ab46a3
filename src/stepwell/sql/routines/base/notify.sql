-- Hints to idle workers. Polling stays the authority: a lost hint costs time, never work.

-- A hint to idle workers that something of their class became claimable; at most one per commit, since Postgres folds equal
-- notifications. Polling stays the authority.
-- Idempotency: a hint.
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
