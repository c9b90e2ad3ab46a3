-- A session ends, and its leases with it: closed by its worker, or lost because its heartbeat stopped.

-- Closes the session of a worker that stops: its units become ready again, and no attempt is counted.
-- Locks: the session, the runs, the units.
-- Idempotency: a closed session stays closed.
-- Raises: nothing.
create or replace function stepwell.fn_worker_close(p_session_key bigint) returns int
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_session_id bigint;
    v_count int;
begin
    update stepwell.worker_session as s set closed_at = stepwell.now(), is_idle = false
    where s.session_key_hash = sha256(int8send(p_session_key)) and s.closed_at is null
    returning s.session_id into v_session_id;
    if not found then
        return 0;
    end if;
    v_count := stepwell._session_release(v_session_id);
    -- The time after the locks: a report that had locked its run before came before the end of the session.
    update stepwell.worker_session as s set closed_at = stepwell.now() where s.session_id = v_session_id;
    return v_count;
end
$$;

-- Ends the leases of sessions whose heartbeat stopped, and the sessions: their units become ready again and one attempt is
-- counted (LEASE_EXPIRED), or they fail for good when no attempt is left. A unit that cannot be locked now comes later,
-- and its session stays open until then; a unit whose recovery fails is set aside. Returns how many units were recovered.
-- Locks: the sessions, the runs and the units, all without waiting.
-- Idempotency: a lease is ended once.
-- Raises: what is not the fault of a row.
create or replace function stepwell.fn_leases_recover(p_limit int default 10) returns int
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_session_ids constant bigint[] := stepwell._sessions_lock_gone(v_now, p_limit);
    v_held record;
    v_count int := 0;
begin
    if v_session_ids is null then
        return 0;
    end if;
    select array_agg(x.tenant_id) as tenant_ids, array_agg(x.unit_id) as unit_ids
    into v_held
    from (
        select distinct u.tenant_id, u.unit_id
        from stepwell.worker_lease as l
        cross join lateral unnest(l.tenant_ids, l.unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        where l.session_id = any (v_session_ids) and u.lease_session_id = l.session_id
            and not stepwell._is_set_aside(u.tenant_id, 'recovery', u.unit_id::text, v_now)
    ) as x;
    if v_held.unit_ids is not null then
        v_held := stepwell._units_lock_free(v_held.tenant_ids, v_held.unit_ids);
    end if;
    if v_held.unit_ids is not null then
        v_count := stepwell._units_isolate('_leases_expire', 'recovery', v_held.tenant_ids, v_held.unit_ids);
    end if;
    perform stepwell._sessions_end(v_session_ids);
    if v_count > 0 then
        -- Also without a row in the queue: under a tenant's cap the end of a lease makes room.
        perform stepwell._workers_wake_all();
    end if;
    return v_count;
end
$$;

-- Sessions that have ended and may still have leases: whose heartbeat stopped; which were closed while a claim was
-- running; of which only leases are left. In random order, so that those which cannot be finished stop no others.
-- Locks: the sessions, without those that another keeper or a heartbeat holds.
create or replace function stepwell._sessions_lock_gone(p_now timestamptz, p_limit int) returns bigint[]
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_locked_ids bigint[];
begin
    select array_agg(g.session_id) into v_locked_ids
    from (
        select s.session_id
        from stepwell.worker_session as s
        -- The condition is repeated for the row itself, so that a heartbeat that came first is seen after the row is
        -- locked.
        where (s.closed_at is not null or s.expires_at < p_now) and s.session_id in (
            select x.session_id from stepwell.worker_session as x where x.closed_at is null and x.expires_at < p_now
            union all
            select l.session_id from stepwell.worker_lease as l
            inner join stepwell.worker_session as x on l.session_id = x.session_id
            where x.closed_at is not null
        )
        order by random()
        limit p_limit
        for update skip locked
    ) as g;
    return nullif(coalesce(v_locked_ids, '{}') || array(
        select distinct l.session_id from stepwell.worker_lease as l
        where not exists (select from stepwell.worker_session as s where s.session_id = l.session_id)
        limit p_limit), '{}');
end
$$;

-- Ends sessions that have no lease left, with an event for each whose heartbeat had stopped.
-- Locks: the caller holds the sessions.
create or replace function stepwell._sessions_end(p_session_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_session record;
begin
    for v_session in
        select q.session_id, s.worker_name, s.closed_at
        from unnest(p_session_ids) as q (session_id)
        left join stepwell.worker_session as s on q.session_id = s.session_id
        where not exists (
            select from stepwell.worker_lease as l
            cross join lateral unnest(l.tenant_ids, l.unit_ids) as h (tenant_id, unit_id)
            inner join stepwell.work_unit as u on h.tenant_id = u.tenant_id and h.unit_id = u.unit_id
            where l.session_id = q.session_id and u.lease_session_id = q.session_id)
        order by q.session_id
    loop
        -- A claim that was running may have named leases since the look above; they stay for the next recovery.
        delete from stepwell.worker_lease as l
        where l.session_id = v_session.session_id and not exists (
            select from unnest(l.tenant_ids, l.unit_ids) as h (tenant_id, unit_id)
            inner join stepwell.work_unit as u on h.tenant_id = u.tenant_id and h.unit_id = u.unit_id
            where u.lease_session_id = l.session_id);
        continue when v_session.closed_at is not null or v_session.worker_name is null;
        -- The time after the locks: a report that had locked its run before came before the end of the session.
        update stepwell.worker_session as s set closed_at = stepwell.now(), is_idle = false
        where s.session_id = v_session.session_id;
        perform stepwell._event_append(1, 0, 'worker.silent', 'keeper',
            jsonb_build_object('worker', v_session.worker_name, 'session_id', v_session.session_id));
        -- Its session is over, its silence is not: a good tick of its class closes the problem.
        perform stepwell._problem_found(1, 'silent_worker', v_session.session_id || ':' || c.class_name, v_session.worker_name, null,
            format('no heartbeat, class %s; its leases went to others', c.class_name), s.last_tick_at)
        from stepwell.worker_session as s
        cross join lateral unnest(s.executor_class_ids) as k (executor_class_id)
        inner join stepwell.executor_class as c on k.executor_class_id = c.executor_class_id
        where s.session_id = v_session.session_id;
    end loop;
end
$$;

-- Looks for units whose session has ended and whose lease no list of the session names, in one slice of the table, and
-- names them again, so that fn_leases_recover finds them. Returns where the next slice begins; 0 at the end of the table.
-- Locks: none.
-- Idempotency: a lease is named once.
-- Raises: nothing.
create or replace function stepwell.fn_leases_find(p_from_page int default 0, p_page_count int default 200) returns int
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_page_count constant bigint := pg_relation_size('stepwell.work_unit') / current_setting('block_size')::int;
begin
    insert into stepwell.worker_lease (session_id, tenant_ids, unit_ids)
    select u.lease_session_id, array_agg(u.tenant_id), array_agg(u.unit_id)
    from stepwell.work_unit as u
    left join stepwell.worker_session as s on u.lease_session_id = s.session_id
    where u.ctid >= format('(%s,0)', p_from_page)::tid and u.ctid < format('(%s,0)', p_from_page + p_page_count)::tid
        and u.lease_session_id is not null and (s.session_id is null or s.closed_at is not null or s.expires_at < v_now)
        and not exists (
            select from stepwell.worker_lease as l
            cross join lateral unnest(l.tenant_ids, l.unit_ids) as q (tenant_id, unit_id)
            where l.session_id = u.lease_session_id and q.tenant_id = u.tenant_id and q.unit_id = u.unit_id)
    group by u.lease_session_id;
    return case when p_from_page + p_page_count < v_page_count then p_from_page + p_page_count else 0 end;
end
$$;

-- Ends the leases of a session that its worker closes; no attempt is counted. Only units that this session still has are
-- changed.
-- Locks: the caller holds the session; the runs and the runs above, then the units.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._session_release(p_session_id bigint) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_held record;
begin
    -- One statement: a claim that commits after it has begun keeps its list, and the keeper recovers its units.
    with gone as (
        delete from stepwell.worker_lease as l where l.session_id = p_session_id
        returning l.tenant_ids, l.unit_ids
    )
    select array_agg(x.tenant_id) as tenant_ids, array_agg(x.unit_id) as unit_ids
    into v_held
    from (
        select distinct q.tenant_id, q.unit_id
        from gone as g
        cross join lateral unnest(g.tenant_ids, g.unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        -- Only what it still has: the rest may be leased to another session, whose report locks in an order of its own.
        where u.lease_session_id = p_session_id
    ) as x;
    perform stepwell._runs_lock_up(v_held.tenant_ids, v_held.unit_ids);
    perform stepwell._runs_and_jobs_lock(v_held.tenant_ids, v_held.unit_ids);
    return stepwell._leases_end(v_held.tenant_ids, v_held.unit_ids, p_session_id);
end
$$;

-- Ends the leases of these units whose session was lost; one failed attempt is counted for each.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._leases_expire(p_tenant_ids int[], p_unit_ids bigint[]) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    return stepwell._leases_end(p_tenant_ids, p_unit_ids, null);
end
$$;

-- Ends leases: those of one session that its worker closes, or those whose session was lost (p_session_id is null).
-- Locks: the caller holds the runs and the jobs.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._leases_end(p_tenant_ids int[], p_unit_ids bigint[], p_session_id bigint) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_held record;
    v_error constant jsonb := '{"type": "LEASE_EXPIRED", "message": "the worker stopped answering while it had the lease"}'::jsonb;
begin
    select
        array_agg(u.tenant_id order by u.unit_id) as tenant_ids, array_agg(u.unit_id order by u.unit_id) as unit_ids,
        array_agg(u.tenant_id order by u.unit_id) filter (where not h.exhausted) as back_tenant_ids,
        array_agg(u.unit_id order by u.unit_id) filter (where not h.exhausted) as back_ids,
        array_agg(u.tenant_id order by u.unit_id) filter (where h.exhausted) as dead_tenant_ids,
        array_agg(u.unit_id order by u.unit_id) filter (where h.exhausted) as dead_ids
    into v_held
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    left join stepwell.worker_session as s on u.lease_session_id = s.session_id
    cross join lateral (select p_session_id is null and u.attempt_count + 1 >= u.max_attempts) as h (exhausted)
    where u.state_code in ('in_progress', 'overdue') and case
        when p_session_id is not null then u.lease_session_id = p_session_id
        else u.lease_session_id is not null and (s.session_id is null or s.closed_at is not null or s.expires_at < v_now) end;
    if v_held.unit_ids is null then
        return 0;
    end if;
    if p_session_id is null then
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
        case when p_session_id is null then 'the worker stopped answering' else 'the worker stopped' end);
    perform stepwell._slots_change(v_held.tenant_ids, v_held.unit_ids, v_held.back_tenant_ids, v_held.back_ids);
    if v_held.dead_ids is not null then
        perform stepwell._units_fail(v_held.dead_tenant_ids, v_held.dead_ids,
            array_fill(jsonb_build_object('failure_class', 'lease_expired', 'error', v_error),
                array[cardinality(v_held.dead_ids)]), 'system');
        perform stepwell._runs_settle(v_held.dead_tenant_ids, v_held.dead_ids);
    end if;
    perform stepwell._subrun_states_show(v_held.tenant_ids, array(select stepwell._run_of(q) from unnest(v_held.unit_ids) as q));
    return cardinality(v_held.unit_ids);
end
$$;

-- Receipts that are still intended although the attempt that made their effect has ended, in whatever way, become
-- unconfirmed. Most do so in the transaction that ends the attempt; this finds what is left, such as the effect of a
-- handler that returned before it. A receipt that is locked comes later; one that fails is set aside. Returns how many
-- became unconfirmed.
-- Locks: the receipts, and the units that made the effects, shared; all without waiting.
-- Idempotency: a receipt becomes unconfirmed once.
-- Raises: what is not the fault of a row.
create or replace function stepwell.fn_receipts_recover(p_limit int default 100) returns int
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_left record;
begin
    select array_agg(x.tenant_id) as tenant_ids, array_agg(x.receipt_id) as receipt_ids
    into v_left
    from (
        select r.tenant_id, r.receipt_id
        from stepwell.action_receipt as r
        inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.receipt_id = u.unit_id
        inner join stepwell.work_unit as s on r.tenant_id = s.tenant_id and r.unit_id = s.unit_id
        where r.settled_at is null and u.state_code = 'intended'
            and (s.lease_no <> r.lease_no or s.lease_session_id is null)
            and not stepwell._is_set_aside(s.tenant_id, 'receipts', u.unit_id::text, v_now)
        order by r.tenant_id, r.receipt_id
        limit p_limit
        for share of s skip locked
        for update of u skip locked
    ) as x;
    return stepwell._units_isolate('_receipts_recover', 'receipts', v_left.tenant_ids, v_left.receipt_ids);
end
$$;

-- Receipts whose attempt ended without settling them.
-- Locks: the caller holds the receipts.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._receipts_recover(p_tenant_ids int[], p_receipt_ids bigint[]) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    return stepwell._receipts_unconfirm(p_tenant_ids, p_receipt_ids, 'the attempt ended without settling it');
end
$$;
