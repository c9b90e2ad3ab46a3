-- Purpose: leases up to n claimable units of the session's classes to it and hands back what a handler needs.
-- Locks: as _claim.
-- Idempotency: none; a claim lost on the way is recovered when the session ends.
-- Raises: SW005 when the session has ended.
create or replace function stepwell.fn_job_claim(p_session_id bigint, p_limit int)
returns setof stepwell.job_lease
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
    v_now constant timestamptz := stepwell.now();
    v_class_ids int[];
    v_is_idle boolean;
begin
    select s.class_ids, s.is_idle into v_class_ids, v_is_idle
    from stepwell.worker_session as s
    where s.session_id = p_session_id and s.closed_at is null and s.expires_at >= v_now;
    if not found then
        raise exception using errcode = 'SW005',
            message = format('worker session %s has ended; open a new one', p_session_id);
    end if;
    return query select c.* from stepwell._claim(p_session_id, v_class_ids, v_is_idle, p_limit, v_now) as c;
end
$$;
