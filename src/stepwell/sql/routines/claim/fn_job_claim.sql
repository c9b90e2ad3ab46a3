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
    v_session constant record := stepwell._session_of(p_session_id);
begin
    return query
    select c.* from stepwell._claim(p_session_id, v_session.class_ids, v_session.is_idle, p_limit, v_session.now) as c;
end
$$;
