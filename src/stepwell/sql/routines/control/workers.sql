-- Workers and executors are stopped from claiming: frozen, because something is wrong with them, or drained, because a worker is to
-- be taken away. What they have goes on. Workers serve every tenant, so only the first tenant stops them.

-- A worker must not claim until fn_worker_go_on: frozen, or drain. It finishes what it has begun; a worker that is frozen is not
-- found to answer again. The stop belongs to the name of the worker, so a new session of it has it too.
-- Locks: worker_stop, exclusively; the sessions of the worker.
-- Idempotency: a repeat replaces the reason.
-- Raises: SW001 without a reason or for another kind; SW002 when there is no such session; SW003 when the worker has ended; SW006
--   when too many are stopped; SW007 for another tenant or without the verb.
create or replace function stepwell.fn_worker_stop(p_tenant_id int, p_worker_id bigint, p_stop_kind text, p_actor text, p_reason text)
returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_session record;
begin
    p_actor := stepwell._stop_check(p_tenant_id, p_actor, p_reason);
    v_session := stepwell._stoppable(p_worker_id, p_stop_kind);
    if v_session.closed_at is not null then
        raise exception using errcode = 'SW003', message = format('worker %s has ended; it claims nothing', v_session.worker_name);
    end if;
    perform stepwell._stop_put(p_tenant_id, p_stop_kind, v_session.worker_name, null, p_actor, stepwell._redact_text(p_reason));
end
$$;

-- A worker that was stopped may claim again, unless another stop is left.
-- Locks: worker_stop, exclusively; the sessions of the worker.
-- Idempotency: a second call is refused, because nothing is left to end.
-- Raises: SW001 without a reason or for another kind; SW002 when there is no such session; SW003 when it is not stopped so; SW007 for
--   another tenant or without the verb.
create or replace function stepwell.fn_worker_go_on(p_tenant_id int, p_worker_id bigint, p_stop_kind text, p_actor text, p_reason text)
returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_session record;
begin
    p_actor := stepwell._stop_check(p_tenant_id, p_actor, p_reason);
    v_session := stepwell._stoppable(p_worker_id, p_stop_kind);
    perform stepwell._stop_end(p_tenant_id, p_stop_kind, v_session.worker_name, null, p_actor, stepwell._redact_text(p_reason));
end
$$;

-- No worker claims units of an executor until fn_executor_unfreeze; units that are leased go on.
-- Locks: worker_stop, exclusively; the open sessions that serve the executor.
-- Idempotency: a repeat replaces the reason.
-- Raises: SW001 without a reason; SW002 when there is no such executor; SW006 when too many are stopped; SW007 for another tenant or
--   without the verb.
create or replace function stepwell.fn_executor_freeze(p_tenant_id int, p_executor text, p_actor text, p_reason text) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    p_actor := stepwell._stop_check(p_tenant_id, p_actor, p_reason);
    perform stepwell._stop_put(p_tenant_id, 'frozen', null, stepwell._executor_of(p_executor), p_actor, stepwell._redact_text(p_reason));
end
$$;

-- Units of a frozen executor may be claimed again.
-- Locks: worker_stop, exclusively; the open sessions that serve the executor.
-- Idempotency: a second call is refused, because nothing is left to end.
-- Raises: SW001 without a reason; SW002 when there is no such executor; SW003 when it is not frozen; SW007 for another tenant or
--   without the verb.
create or replace function stepwell.fn_executor_unfreeze(p_tenant_id int, p_executor text, p_actor text, p_reason text) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    p_actor := stepwell._stop_check(p_tenant_id, p_actor, p_reason);
    perform stepwell._stop_end(p_tenant_id, 'frozen', null, stepwell._executor_of(p_executor), p_actor, stepwell._redact_text(p_reason));
end
$$;

-- Who stops or frees, after the checks that all four calls share.
-- Raises: SW001 without a reason; SW007 without the verb.
create or replace function stepwell._stop_check(p_tenant_id int, p_actor text, p_reason text) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_actor constant text := stepwell._actor_bound(p_tenant_id, p_actor, 'worker.stop');
begin
    if coalesce(btrim(p_reason), '') = '' then
        raise exception using errcode = 'SW001', column = 'reason', message = 'reason: say in words why; 1 to 2000 characters are accepted';
    end if;
    if length(p_reason) > 2000 then
        raise exception using errcode = 'SW001', column = 'reason', message = 'reason: 1 to 2000 characters are accepted';
    end if;
    return v_actor;
end
$$;

-- The session of a worker that is to be stopped or freed.
-- Raises: SW001 for another kind of stop; SW002 when there is no such session.
create or replace function stepwell._stoppable(
    p_worker_id bigint, p_stop_kind text, out worker_name text, out closed_at timestamptz
)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if p_stop_kind is null or p_stop_kind not in ('frozen', 'drain') then
        raise exception using errcode = 'SW001', column = 'stop_kind', message = 'stop_kind: frozen and drain are accepted';
    end if;
    select s.worker_name, s.closed_at into worker_name, closed_at from stepwell.worker_session as s where s.session_id = p_worker_id;
    if not found then
        raise exception using errcode = 'SW002', column = 'session_id', message = format('worker %s does not exist', p_worker_id);
    end if;
end
$$;

-- The number of an executor class.
-- Raises: SW002 when there is no such class.
create or replace function stepwell._executor_of(p_executor text) returns int
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_class_id constant int := (select c.executor_class_id from stepwell.executor_class as c where c.class_name = p_executor);
begin
    if v_class_id is null then
        raise exception using errcode = 'SW002', column = 'executor', message = format('executor %s does not exist', left(p_executor, 100)),
            hint = 'one of ' || (select string_agg(c.class_name, ', ' order by c.class_name) from stepwell.executor_class as c);
    end if;
    return v_class_id;
end
$$;

-- Stops a worker or an executor, and tells it to the log.
-- Locks: worker_stop, exclusively: a session that opens waits, and sees the stop; then the sessions.
-- Raises: SW006 when too many are stopped; SW007 for another tenant.
create or replace function stepwell._stop_put(
    p_tenant_id int, p_stop_kind text, p_worker_name text, p_executor_class_id int, p_actor text, p_reason text
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._stops_lock(p_tenant_id);
    update stepwell.worker_stop as w set reason = p_reason, stopped_by = coalesce(p_actor, stepwell._caller_name())
    where w.stop_kind = p_stop_kind and (w.worker_name = p_worker_name or w.executor_class_id = p_executor_class_id);
    if not found then
        if (select count(*) from stepwell.worker_stop) >= stepwell._limit('limits.worker_stops') then
            raise exception using errcode = 'SW006', column = 'worker', message = format('at most %s workers and executors are stopped at a time',
                stepwell._limit('limits.worker_stops'));
        end if;
        insert into stepwell.worker_stop (stop_kind, worker_name, executor_class_id, reason, stopped_by, stopped_at)
        values (p_stop_kind, p_worker_name, p_executor_class_id, p_reason, coalesce(p_actor, stepwell._caller_name()), stepwell.now());
    end if;
    perform stepwell._stop_tell(p_tenant_id, case p_stop_kind when 'drain' then 'worker.drain_asked' else 'worker.frozen' end,
        p_worker_name, p_executor_class_id, p_actor, p_reason);
end
$$;

-- Ends a stop, tells it to the log, and wakes the workers.
-- Locks: as _stop_put.
-- Raises: SW003 when there is no such stop; SW007 for another tenant.
create or replace function stepwell._stop_end(
    p_tenant_id int, p_stop_kind text, p_worker_name text, p_executor_class_id int, p_actor text, p_reason text
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._stops_lock(p_tenant_id);
    delete from stepwell.worker_stop as w
    where w.stop_kind = p_stop_kind and (w.worker_name = p_worker_name or w.executor_class_id = p_executor_class_id);
    if not found then
        raise exception using errcode = 'SW003', message = case when p_stop_kind = 'drain' then format('worker %s does not drain', p_worker_name)
            else format('%s is not frozen', coalesce('worker ' || p_worker_name, 'the executor')) end;
    end if;
    perform stepwell._stop_tell(p_tenant_id, case p_stop_kind when 'drain' then 'worker.drain_ended' else 'worker.unfrozen' end,
        p_worker_name, p_executor_class_id, p_actor, p_reason);
    -- It is not idle, because it was stopped: it is woken whatever the queue holds.
    perform pg_notify('stepwell_ready', '');
end
$$;

-- Workers serve every tenant, so only the first one stops and frees them. Then nobody else does so at the same time, and a session
-- that opens waits.
-- Locks: worker_stop, exclusively.
-- Raises: SW007 for another tenant.
create or replace function stepwell._stops_lock(p_tenant_id int) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    if p_tenant_id <> 1 then
        raise exception using errcode = 'SW007', column = 'tenant',
            message = 'workers serve every tenant: only the first tenant of the installation stops them';
    end if;
    lock table stepwell.worker_stop in exclusive mode;
end
$$;

-- Gives the open sessions that it is about what they may claim now, and appends the event.
-- Locks: the sessions.
create or replace function stepwell._stop_tell(
    p_tenant_id int, p_event_type text, p_worker_name text, p_executor_class_id int, p_actor text, p_reason text
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    update stepwell.worker_session as s
    set claim_class_ids = n.class_ids, is_idle = s.is_idle and n.class_ids <> '{}'
    from (
        select x.session_id, stepwell._claim_classes(x.worker_name, x.executor_class_ids) as class_ids
        from stepwell.worker_session as x
        where x.closed_at is null and (x.worker_name = p_worker_name or p_executor_class_id = any (x.executor_class_ids))
        order by x.session_id
        for update
    ) as n
    where s.session_id = n.session_id and s.claim_class_ids <> n.class_ids;
    perform stepwell._event_append(p_tenant_id, 0, p_event_type, coalesce(p_actor, stepwell._caller_name()), jsonb_build_object(
        'what', case when p_worker_name is null then 'executor' else 'worker' end,
        'name', coalesce(p_worker_name, (select c.class_name from stepwell.executor_class as c where c.executor_class_id = p_executor_class_id)),
        'reason', p_reason));
end
$$;
