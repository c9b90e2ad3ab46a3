-- Purpose: ends a worker's session in good order: what it still holds goes back to the queue, uncounted.
-- Locks: the session, the runs, the units.
-- Idempotency: a closed session stays closed.
-- Raises: nothing.
create or replace function stepwell.fn_worker_close(p_session_id bigint) returns int
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set random_page_cost = 0.01
set join_collapse_limit = 1
set jit = off
as $$
declare
    v_count int;
begin
    update stepwell.worker_session as s set closed_at = stepwell.now(), is_idle = false
    where s.session_id = p_session_id and s.closed_at is null;
    if not found then
        return 0;
    end if;
    v_count := stepwell._session_release(p_session_id, false);
    -- The time after the locks: a report that had its run before us came before the end.
    update stepwell.worker_session as s set closed_at = stepwell.now() where s.session_id = p_session_id;
    if v_count > 0 then
        perform stepwell._workers_wake(null);
    end if;
    return v_count;
end
$$;
