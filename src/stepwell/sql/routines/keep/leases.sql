-- A session ends, and its leases with it: closed by its worker, or lost because its heartbeat stopped.

-- Closes the session of a worker that stops: its units become ready again, and no attempt is counted.
-- Locks: the session, the runs, the units.
-- Idempotency: a closed session stays closed.
-- Raises: nothing.
create or replace function stepwell.fn_worker_close(p_session_id bigint) returns int
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
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
    -- The time after the locks: a report that had locked its run before came before the end of the session.
    update stepwell.worker_session as s set closed_at = stepwell.now() where s.session_id = p_session_id;
    return v_count;
end
$$;

-- Closes sessions whose heartbeat stopped: their units become ready again and one attempt is counted (LEASE_EXPIRED),
-- or they fail for good when no attempt is left. Returns how many units were recovered.
-- Locks: the sessions (without those that another keeper or a report holds), the runs, the units.
-- Idempotency: a session is closed in the same transaction.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell.fn_leases_recover(p_limit int default 10) returns int
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
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
        -- The condition is repeated for the row itself, so that a heartbeat that came first is seen after the row is
        -- locked.
        where (s.closed_at is not null or s.expires_at < v_now) and s.session_id in (
            select x.session_id from stepwell.worker_session as x where x.closed_at is null and x.expires_at < v_now
            union all
            -- A claim that was running when its session was closed.
            select l.session_id from stepwell.worker_lease as l
            inner join stepwell.worker_session as x on l.session_id = x.session_id
            where x.closed_at is not null
        )
        order by s.session_id
        limit p_limit
        for update skip locked
    )
    select array_agg(g.session_id order by g.session_id) into v_ids from gone as g;
    -- The runs of all sessions at once: one session after the other would not be in lock order.
    select array_agg(q.tenant_id) as tenant_ids, array_agg(q.unit_id) as unit_ids
    into v_held
    from stepwell.worker_lease as l
    cross join lateral unnest(l.tenant_ids, l.unit_ids) as q (tenant_id, unit_id)
    where l.session_id = any (v_ids);
    perform stepwell._runs_lock_up(v_held.tenant_ids, v_held.unit_ids);
    perform stepwell._runs_and_jobs_lock(v_held.tenant_ids, v_held.unit_ids);
    for v_session in
        select s.session_id, s.worker_name, s.closed_at
        from stepwell.worker_session as s
        where s.session_id = any (v_ids)
        order by s.session_id
    loop
        -- The time after the locks: a report that had locked its run before came before the end of the session.
        update stepwell.worker_session as s set closed_at = coalesce(s.closed_at, stepwell.now()), is_idle = false
        where s.session_id = v_session.session_id;
        v_count := v_count + stepwell._session_release(v_session.session_id, true);
        continue when v_session.closed_at is not null;
        perform stepwell._event_append(1, 0, 'worker.silent', 'keeper',
            jsonb_build_object('worker', v_session.worker_name, 'session_id', v_session.session_id));
    end loop;
    if v_count > 0 then
        -- Also without a row in the queue: under a tenant's cap the end of a lease makes room.
        perform stepwell._workers_wake(null);
    end if;
    return v_count;
end
$$;

-- Ends the leases of a closed session: when it was lost, one failed attempt is counted for each unit; when its worker
-- closed it, none. Only units that this session still has are changed.
-- Locks: the caller holds the session; the runs, then the units.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._session_release(p_session_id bigint, p_expired boolean) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_held record;
    v_error constant jsonb := '{"type": "LEASE_EXPIRED", "message": "the worker stopped answering while it had the lease"}'::jsonb;
begin
    select array_agg(x.tenant_id) as tenant_ids, array_agg(x.unit_id) as unit_ids
    into v_held
    from (
        select distinct q.tenant_id, q.unit_id
        from stepwell.worker_lease as l
        cross join lateral unnest(l.tenant_ids, l.unit_ids) as q (tenant_id, unit_id)
        where l.session_id = p_session_id
    ) as x;
    delete from stepwell.worker_lease as l where l.session_id = p_session_id;
    perform stepwell._runs_and_jobs_lock(v_held.tenant_ids, v_held.unit_ids);
    select
        array_agg(u.tenant_id order by u.unit_id) as tenant_ids, array_agg(u.unit_id order by u.unit_id) as unit_ids,
        array_agg(u.tenant_id order by u.unit_id) filter (where not h.exhausted) as back_tenant_ids,
        array_agg(u.unit_id order by u.unit_id) filter (where not h.exhausted) as back_ids,
        array_agg(u.tenant_id order by u.unit_id) filter (where h.exhausted) as dead_tenant_ids,
        array_agg(u.unit_id order by u.unit_id) filter (where h.exhausted) as dead_ids
    into v_held
    from unnest(v_held.tenant_ids, v_held.unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    cross join lateral (select p_expired and u.attempt_count + 1 >= u.max_attempts) as h (exhausted)
    where u.lease_session_id = p_session_id and u.state_code in ('in_progress', 'overdue');
    if v_held.unit_ids is null then
        return 0;
    end if;
    if p_expired then
        insert into stepwell.unit_failure (
            tenant_id, unit_id, lease_no, failure_class, classification, error, attempt_count, failed_at, next_eligible_at)
        select u.tenant_id, u.unit_id, u.lease_no, 'lease_expired', 'transient', v_error, u.attempt_count + 1, v_now, v_now
        from unnest(v_held.back_tenant_ids, v_held.back_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id;
        perform stepwell._units_move(v_held.back_tenant_ids, v_held.back_ids, 'ready', 'system', 'timer', 'lease_expired',
            'keeper');
    else
        perform stepwell._units_move(v_held.back_tenant_ids, v_held.back_ids, 'ready', 'executor_worker', 'rpc',
            'step_release', p_session_id => p_session_id);
    end if;
    perform stepwell._receipts_doubt(v_held.tenant_ids, v_held.unit_ids,
        case when p_expired then 'the worker stopped answering' else 'the worker stopped' end);
    perform stepwell._slots_free(v_held.tenant_ids, v_held.unit_ids);
    if v_held.back_ids is not null then
        perform stepwell._slots_take(v_held.back_tenant_ids, v_held.back_ids);
    end if;
    if v_held.dead_ids is not null then
        perform stepwell._units_fail(v_held.dead_tenant_ids, v_held.dead_ids,
            array_fill(jsonb_build_object('failure_class', 'lease_expired', 'error', v_error),
                array[cardinality(v_held.dead_ids)]), 'system');
        perform stepwell._runs_settle(v_held.dead_tenant_ids, v_held.dead_ids);
    end if;
    perform stepwell._subrun_colours_show(v_held.tenant_ids, array(select stepwell._run_of(q) from unnest(v_held.unit_ids) as q));
    return cardinality(v_held.unit_ids);
end
$$;

-- Receipts that are still intended although the attempt that made their effect has ended, in whatever way, become
-- unconfirmed. Most do so in the transaction that ends the attempt; this finds what is left, such as the effect of a
-- handler that returned before it. Returns how many there were.
-- Locks: the units that made the effects, shared, without those that another transaction holds; then the receipts.
-- Idempotency: a receipt becomes unconfirmed once.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell.fn_receipts_recover(p_limit int default 100) returns int
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_left record;
begin
    select array_agg(x.tenant_id) as tenant_ids, array_agg(x.unit_id) as unit_ids
    into v_left
    from (
        select s.tenant_id, s.unit_id
        from stepwell.action_receipt as r
        inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.receipt_id = u.unit_id
        inner join stepwell.work_unit as s on r.tenant_id = s.tenant_id and r.unit_id = s.unit_id
        where r.settled_at is null and u.state_code = 'intended'
            and (s.lease_no <> r.lease_no or s.lease_session_id is null)
        order by s.tenant_id, s.unit_id
        limit p_limit
        for share of s skip locked
    ) as x;
    if v_left.unit_ids is null then
        return 0;
    end if;
    return stepwell._receipts_doubt(v_left.tenant_ids, v_left.unit_ids, 'the attempt ended without settling it');
end
$$;
