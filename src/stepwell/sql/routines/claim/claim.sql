-- A worker asks for work: units are taken out of the queue and leased to its session, with everything a handler needs.
-- Which units those are is decided in claim/take.sql.

-- Leases up to n units of the session's classes to it, and returns what a handler needs for each.
-- Locks: as _claim.
-- Idempotency: none; the units of a claim whose answer was lost are recovered when the session ends.
-- Raises: SW005 when the session has ended.
create or replace function stepwell.fn_job_claim(p_session_key bigint, p_limit int)
returns setof stepwell.job_lease
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_session constant record := stepwell._session_of(p_session_key);
begin
    return query
    select c.* from stepwell._claim(v_session.session_id, v_session.executor_class_ids, v_session.is_idle, p_limit, v_session.now,
        p_handler_ids => v_session.handler_ids) as c;
end
$$;

-- What a claim must know about a session: its number, its classes, its handlers, whether it is idle, and the present time.
-- Raises: SW005 when the session has ended; SW007 for the generator.
create or replace function stepwell._session_of(
    p_session_key bigint, out session_id bigint, out executor_class_ids int[], out is_idle boolean, out handler_ids int[],
    out now timestamptz
)
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    if coalesce(current_setting('stepwell.binding', true), '') <> '' then
        perform stepwell._executes_check();
    end if;
    _session_of.now := stepwell.now();
    -- The classes of which it may claim: while it is frozen or drains, none.
    select s.session_id, s.claim_class_ids, s.is_idle, s.handler_ids into session_id, executor_class_ids, is_idle, handler_ids
    from stepwell.worker_session as s
    where s.session_key_hash = sha256(int8send(p_session_key)) and s.closed_at is null and s.expires_at >= _session_of.now;
    if not found then
        raise exception using errcode = 'SW005',
            message = 'the session of this worker has ended; open a new one';
    end if;
end
$$;

-- The claim itself. Direct leases of the same call (p_direct_ids) count first; when the report or start of that call
-- saw an empty queue (p_is_dry), the queue is not read again. Returns for each unit what a handler needs: operation,
-- input, why it runs again, time limit. Where the inputs of a step cannot be bound, bound_input is a text, the reason: the
-- worker reports the step as dead with it. A claim does not hold the run, so it cannot fail the step itself. What only few
-- units have is read by functions of their own, because a subquery is prepared for each call even when it does not run.
-- Locks: as _fresh_take.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._claim(
    p_session_id bigint, p_executor_class_ids int[], p_is_idle boolean, p_limit int, p_now timestamptz,
    p_tenant_id int default null, p_direct_ids bigint[] default null, p_is_dry boolean default false,
    p_handler_ids int[] default null
)
returns setof stepwell.job_lease
language plpgsql volatile
as $$
declare
    v_direct_count constant int := coalesce(cardinality(p_direct_ids), 0);
    v_fresh record;
    v_tenant_ids int[] := array_fill(p_tenant_id, array[v_direct_count]);
    v_unit_ids bigint[] := p_direct_ids;
    v_batch_id bigint;
    v_is_idle boolean;
    v_simple_count int;
begin
    if not p_is_dry and p_limit > v_direct_count then
        v_fresh := stepwell._fresh_take(p_session_id, p_executor_class_ids, p_handler_ids,
            least(p_limit, 1000) - v_direct_count, p_now);
        v_tenant_ids := v_tenant_ids || v_fresh.tenant_ids;
        v_unit_ids := v_unit_ids || v_fresh.unit_ids;
    end if;
    v_is_idle := coalesce(cardinality(v_unit_ids), 0) < p_limit and p_executor_class_ids <> '{}';
    if v_is_idle <> p_is_idle then
        -- Idle means that the session could take more. A worker asks once more after this has changed, because a
        -- transaction that made something ready meanwhile may not have seen it. It is only a hint, so this never waits
        -- for the row: a recovery of this session holds it and waits for the runs that this transaction holds.
        update stepwell.worker_session as s set is_idle = v_is_idle
        where s.session_id = (select x.session_id from stepwell.worker_session as x
            where x.session_id = p_session_id for no key update skip locked);
    end if;
    if v_unit_ids is null or v_unit_ids = '{}' then
        return;
    end if;
    insert into stepwell.worker_lease (session_id, tenant_ids, unit_ids)
    values (p_session_id, v_tenant_ids, v_unit_ids)
    returning batch_id into v_batch_id;
    -- Most units have nothing but a small input of their run, or of their job.
    return query
    select
        'lease'::text, q.tenant_id, u.unit_id, u.lease_no, v_batch_id, o.operation_name, u.attempt_count + 1,
        u.max_attempts::int, coalesce(d.timeout_seconds, o.timeout_seconds), d.step_id,
        x.input, null::jsonb,
        case when u.lease_no > 1 then stepwell._wake_read(u.tenant_id, u.unit_id) end,
        case when u.lease_no > 1 then stepwell._checkpoints_read(u.tenant_id, u.unit_id) end,
        x.trace_id, x.correlation_id, u.deadline_at
    from (select unnest(v_tenant_ids) as tenant_id, unnest(v_unit_ids) as unit_id) as q
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    inner join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
    left join stepwell.workflow_step_def as d
        on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    cross join lateral (
        select r.input, r.trace_id, r.correlation_id
        from stepwell.run_detail as r
        where u.scope in ('step', 'task') and u.item_no is null and d.inputs is null
            and r.tenant_id = u.tenant_id and r.run_id = stepwell._run_of(u.unit_id) and coalesce(pg_column_size(r.input), 0) <= 1000
        union all
        select j.payload, j.trace_id, j.correlation_id
        from stepwell.job_detail as j
        where u.scope = 'job' and j.tenant_id = u.tenant_id and j.job_id = u.unit_id
    ) as x;
    get diagnostics v_simple_count = row_count;
    if v_simple_count < cardinality(v_unit_ids) then
        return query select b.* from stepwell._leases_bound(p_session_id, v_tenant_ids, v_unit_ids, v_batch_id) as b;
    end if;
end
$$;

-- Takes units out of the queue and leases them to a session: first attempts and retries.
-- Locks: as _ready_take, which waits for no other claim; then the units.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._fresh_take(
    p_session_id bigint, p_executor_class_ids int[], p_handler_ids int[], p_limit int, p_now timestamptz,
    out tenant_ids int[], out unit_ids bigint[]
)
language plpgsql volatile
as $$
declare
    v_walked_count constant bigint := stepwell._walked_count();
    v_taken constant record := stepwell._ready_take(p_executor_class_ids, p_handler_ids, p_limit);
    v_requests stepwell.transition_request[];
begin
    if stepwell._walked_far(v_walked_count) then
        perform stepwell._gaps_begin();
    end if;
    if v_taken.unit_ids is null then
        return;
    end if;
    select array_agg(t.tenant_id), array_agg(t.unit_id), array_agg(
        row(t.tenant_id, t.unit_id, 'in_progress', null, null, null, null, null)::stepwell.transition_request)
    into tenant_ids, unit_ids, v_requests
    from (
        select q.tenant_id, q.unit_id from unnest(v_taken.tenant_ids, v_taken.unit_ids) as q (tenant_id, unit_id)
        where v_taken.retry_ids is null or not q.unit_id = any (v_taken.retry_ids)
        order by q.unit_id
    ) as t;
    perform stepwell._must_apply(v_requests, row('executor_worker', 'rpc', 'step_claim', null, p_session_id, p_now, null, 0,
        null)::stepwell.transition_cause);
    if v_taken.retry_ids is not null then
        select array_agg(row(t.tenant_id, t.unit_id, 'in_progress', null, null, null, null, null)::stepwell.transition_request)
        into v_requests
        from (
            select q.tenant_id, q.unit_id from unnest(v_taken.tenant_ids, v_taken.unit_ids) as q (tenant_id, unit_id)
            where q.unit_id = any (v_taken.retry_ids)
            order by q.unit_id
        ) as t;
        perform stepwell._must_apply(v_requests, row('executor_worker', 'event', 'retry_attempt', null, p_session_id, p_now, null,
            0, null)::stepwell.transition_cause);
        perform stepwell._subrun_states_show(array_agg(r.tenant_id), array_agg(stepwell._run_of(r.unit_id)))
        from unnest(v_requests) as r;
        tenant_ids := tenant_ids || array(select r.tenant_id from unnest(v_requests) as r);
        unit_ids := unit_ids || array(select r.unit_id from unnest(v_requests) as r);
    end if;
    perform stepwell._tenant_leases_note(tenant_ids, unit_ids);
end
$$;

-- The item of a step inside a Map, and its index.
create or replace function stepwell._item_read(p_tenant_id int, p_map_id bigint, p_item_no int) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return (
        select jsonb_build_object('item', i.item, 'index', i.item_no)
        from stepwell.map_item as i
        where i.tenant_id = p_tenant_id and i.unit_id = p_map_id and i.item_no = p_item_no);
end
$$;

-- What woke a unit that had waited; null when it did not wait.
create or replace function stepwell._wake_read(p_tenant_id int, p_unit_id bigint) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return (
        select jsonb_build_object('task_type', w.task_type, 'event_type', w.event_type, 'payload', w.payload)
        from stepwell.unit_wake as w
        where w.tenant_id = p_tenant_id and w.unit_id = p_unit_id);
end
$$;

-- The checkpoints that earlier attempts of a unit saved, by name; null when there are none.
create or replace function stepwell._checkpoints_read(p_tenant_id int, p_unit_id bigint) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return (
        select jsonb_object_agg(c.checkpoint_name, c.checkpoint_value)
        from stepwell.unit_checkpoint as c
        where c.tenant_id = p_tenant_id and c.unit_id = p_unit_id);
end
$$;
