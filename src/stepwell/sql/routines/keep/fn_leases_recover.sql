-- Purpose: sessions whose heartbeat stopped: their units return to ready with one more attempt counted
--   (LEASE_EXPIRED), or end as dead when their attempts are used up. Returns how many units were recovered.
-- Locks: the session (skipping one that another keeper handles or a report holds), the runs, the units.
-- Idempotency: a session is closed in the same transaction.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell.fn_leases_recover(p_limit int default 10) returns int
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
    v_ids bigint[];
    v_held record;
    v_session record;
    v_count int := 0;
begin
    with gone as (
        select s.session_id
        from stepwell.worker_session as s
        -- Said of the row itself too, so that a heartbeat that came first is seen once the lock is had.
        where (s.closed_at is not null or s.expires_at < v_now) and s.session_id in (
            select x.session_id from stepwell.worker_session as x where x.closed_at is null and x.expires_at < v_now
            union all
            -- A claim that was on its way when its session was closed.
            select l.session_id from stepwell.worker_lease as l
            inner join stepwell.worker_session as x on l.session_id = x.session_id
            where x.closed_at is not null
        )
        order by s.session_id
        limit p_limit
        for update skip locked
    )
    select array_agg(g.session_id order by g.session_id) into v_ids from gone as g;
    -- The runs of all of them at once: session by session they would not be in order.
    select array_agg(q.tenant_id) as tenant_ids, array_agg(q.unit_id) as unit_ids
    into v_held
    from stepwell.worker_lease as l
    cross join lateral unnest(l.tenant_ids, l.unit_ids) as q (tenant_id, unit_id)
    where l.session_id = any (v_ids);
    perform stepwell._runs_lock_up(v_held.tenant_ids, v_held.unit_ids);
    perform stepwell._stream_lock(v_held.tenant_ids, v_held.unit_ids);
    for v_session in
        select s.session_id, s.worker_name, s.closed_at
        from stepwell.worker_session as s
        where s.session_id = any (v_ids)
        order by s.session_id
    loop
        -- The time after the locks: a report that had its run before us came before the end.
        update stepwell.worker_session as s set closed_at = coalesce(s.closed_at, stepwell.now()), is_idle = false
        where s.session_id = v_session.session_id;
        v_count := v_count + stepwell._session_release(v_session.session_id, true);
        continue when v_session.closed_at is not null;
        perform stepwell._event_append(1, 0, 'worker.silent', 'keeper',
            jsonb_build_object('worker', v_session.worker_name, 'session_id', v_session.session_id));
    end loop;
    if v_count > 0 then
        perform stepwell._workers_wake(null);
    end if;
    return v_count;
end
$$;
