-- Free-standing jobs enter the queue.

-- Creates n free-standing jobs of one operation in one call. A key that exists returns its job.
-- Locks: concurrency_slot rows when a concurrency key is given, or the workspace has a cap.
-- Idempotency: by (tenant, idempotency key).
-- Raises: SW001 for bad input; SW002 when the workspace does not exist; SW006 over a limit; SW007 for another tenant.
create or replace function stepwell.fn_job_enqueue(
    p_tenant_id int,
    p_operation_name text,
    p_payloads jsonb[],
    p_keys text[] default null,
    p_priority int default 0,
    p_process_after timestamptz default null,
    p_concurrency_key text default null,
    p_max_concurrency int default null,
    p_max_attempts int default null,
    p_actor text default 'client',
    p_trace_id text default null,
    p_correlation_id text default null,
    p_source_ref text default null,
    p_target_ref text default null,
    p_payload_ref text default null,
    p_rate_count int default null,
    p_rate_seconds double precision default null,
    p_workspace text default null
) returns table (job_id bigint, is_new boolean)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := stepwell.now();
    v_machine constant text := stepwell._machine_of('job');
    v_later constant boolean := coalesce(p_process_after > v_now, false);
    v_told constant jsonb := case when p_priority <> 0 or p_workspace is not null
        then jsonb_strip_nulls(jsonb_build_object('workspace', p_workspace, 'priority', nullif(p_priority, 0))) end;
    v_operation stepwell.operation;
    -- Not fields of records: each would be looked up for every job.
    v_operation_id int;
    v_executor_class_id int;
    v_audit_ref text;
    v_workspace_id int;
    v_slot_key text;
    v_new_ids bigint[];
begin
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'run.start');
    p_correlation_id := stepwell._redact_text(p_correlation_id);
    perform stepwell._enqueue_input_check(p_payloads, p_keys, p_priority, p_concurrency_key, p_max_concurrency, p_trace_id,
        p_rate_count, p_rate_seconds);
    v_operation := stepwell._operation_of(p_tenant_id, p_operation_name);
    perform stepwell._event_type_check('job.enqueued');
    v_operation_id := v_operation.operation_id;
    v_executor_class_id := v_operation.executor_class_id;
    v_audit_ref := 'operation:' || v_operation.operation_name;
    p_max_attempts := coalesce(p_max_attempts, v_operation.max_attempts);
    select l.workspace_id, l.slot_key into v_workspace_id, v_slot_key
    from stepwell._job_place(p_tenant_id, p_workspace, 'key:' || p_concurrency_key) as l;
    v_new_ids := stepwell._jobs_create(p_tenant_id, p_payloads, p_keys, v_now, p_actor, v_workspace_id, p_trace_id,
        p_correlation_id, stepwell._redact_text(p_source_ref), stepwell._redact_text(p_target_ref), stepwell._redact_text(p_payload_ref));
    with unit as (
        insert into stepwell.work_unit (
            tenant_id, unit_id, operation_id, executor_class_id, priority, max_attempts, last_transition_at, scope,
            state_machine_id, state_code, slot_key)
        select p_tenant_id, b.job_id, v_operation_id, v_executor_class_id, p_priority,
            p_max_attempts, v_now, 'job', v_machine, 'ready', v_slot_key
        from unnest(v_new_ids) as b (job_id)
    ), logged as (
        insert into stepwell.event_log (
            tenant_id, at, run_id, unit_id, event_type, to_state, actor_class, actor, audit_ref, trace_id, correlation_id,
            payload)
        select p_tenant_id, v_now, stepwell._run_of(b.job_id), b.job_id, 'job.enqueued', 'ready', 'system', p_actor,
            v_audit_ref, p_trace_id, p_correlation_id, v_told
        from unnest(v_new_ids) as b (job_id)
    ), queued as (
        insert into stepwell.job_ready (tenant_id, workspace_id, executor_class_id, rank, operation_id, unit_id, is_retry)
        select p_tenant_id, coalesce(v_workspace_id, 0), v_executor_class_id, -p_priority, v_operation_id, b.job_id, false
        from unnest(v_new_ids) as b (job_id)
        where not v_later and v_slot_key is null
    )
    insert into stepwell.timer (tenant_id, unit_id, timer_kind, due_at)
    select p_tenant_id, b.job_id, 'start', p_process_after
    from unnest(v_new_ids) as b (job_id)
    where v_later;
    if p_concurrency_key is not null then
        perform stepwell._slot_set(p_tenant_id, v_slot_key, p_max_concurrency, p_rate_count, p_rate_seconds);
    end if;
    if v_new_ids is not null and not v_later and v_slot_key is not null then
        perform stepwell._slots_take(array_fill(p_tenant_id, array[cardinality(v_new_ids)]), v_new_ids);
    end if;
    if p_keys is null then
        return query select n.job_id, true from unnest(v_new_ids) as n (job_id);
    else
        return query select j.job_id, j.is_new from stepwell._jobs_of_keys(p_tenant_id, p_keys, v_new_ids) as j;
    end if;
end
$$;

-- The jobs of these keys, in their order, and which of them are new. Each key is looked up by itself: a plan made for few jobs would
-- read all of the tenant. The new numbers are in a query of their own: they are hashed once, and not compared for each key.
create or replace function stepwell._jobs_of_keys(p_tenant_id int, p_keys text[], p_new_ids bigint[])
returns table (job_id bigint, is_new boolean)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select j.job_id, j.job_id in (select n.job_id from unnest(p_new_ids) as n (job_id))
    from unnest(p_keys) with ordinality as q (job_key, ord)
    cross join lateral (
        select x.job_id from stepwell.job_detail as x
        where x.tenant_id = p_tenant_id and x.idempotency_key = q.job_key offset 0
    ) as j
    order by q.ord;
end
$$;

-- Writes the rows of new jobs; returns their numbers, in ascending order; null when every key has its job already.
-- Without keys no row can be there already: to look for it costs half as much again as the row.
-- Locks: the key of each job, in the order of the keys; a job of the same key that is not committed is waited for.
create or replace function stepwell._jobs_create(
    p_tenant_id int, p_payloads jsonb[], p_keys text[], p_now timestamptz, p_actor text, p_workspace_id int, p_trace_id text,
    p_correlation_id text, p_source_ref text, p_target_ref text, p_payload_ref text
) returns bigint[]
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_ids bigint[] := array(
        select stepwell._run_unit(nextval('stepwell.run_seq')) from generate_series(1, cardinality(p_payloads)));
begin
    if p_keys is null then
        insert into stepwell.job_detail (
            tenant_id, job_id, payload, source_ref, target_ref, payload_ref, trace_id, correlation_id, created_at,
            created_by, workspace_id)
        select p_tenant_id, q.job_id, q.payload, p_source_ref, p_target_ref, p_payload_ref, p_trace_id,
            p_correlation_id, p_now, p_actor, p_workspace_id
        from unnest(v_ids, p_payloads) as q (job_id, payload);
        return v_ids;
    end if;
    -- Numbers in the order of the payloads, rows in the order of the keys: two calls with the same keys never wait for
    -- each other.
    with born as (
        insert into stepwell.job_detail (
            tenant_id, job_id, payload, idempotency_key, source_ref, target_ref, payload_ref, trace_id, correlation_id,
            created_at, created_by, workspace_id)
        select p_tenant_id, q.job_id, q.payload, q.job_key, p_source_ref, p_target_ref, p_payload_ref,
            p_trace_id, p_correlation_id, p_now, p_actor, p_workspace_id
        from unnest(v_ids, p_payloads, p_keys) as q (job_id, payload, job_key)
        order by q.job_key collate "C", q.job_id
        on conflict do nothing
        returning job_id
    )
    select array_agg(b.job_id order by b.job_id) into v_ids from born as b;
    return v_ids;
end
$$;

-- The workspace of new jobs and their concurrency key: that of the caller, else that of a workspace with a cap, else none.
-- Locks: the row of the key of the workspace, when its limit has changed.
-- Raises: SW002 when there is no such workspace.
create or replace function stepwell._job_place(
    p_tenant_id int, p_workspace text, p_slot_key text, out workspace_id int, out slot_key text
)
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    slot_key := p_slot_key;
    if p_workspace is not null then
        workspace_id := stepwell._workspace_find(p_tenant_id, p_workspace);
        slot_key := coalesce(slot_key, stepwell._workspace_slot(p_tenant_id, workspace_id));
    end if;
end
$$;

-- The slot of a key exists and has these limits; a limit that is not given stays as it is. A key with a rate and without
-- a limit runs as many at once as the rate allows.
-- Locks: the slot, as _slots_lock.
create or replace function stepwell._slot_set(
    p_tenant_id int, p_slot_key text, p_max_count int, p_rate_count int, p_rate_seconds double precision
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    loop
        insert into stepwell.concurrency_slot (tenant_id, slot_key, max_count, rate_count, rate_seconds)
        values (p_tenant_id, p_slot_key, coalesce(p_max_count, case when p_rate_count is null then 1 else 2147483647 end),
            p_rate_count, p_rate_seconds)
        on conflict (tenant_id, slot_key) do nothing;
        exit when found;
        perform stepwell._slots_lock(array[p_tenant_id], array[p_slot_key]);
        update stepwell.concurrency_slot as s set max_count = coalesce(p_max_count, s.max_count),
            rate_count = coalesce(p_rate_count, s.rate_count), rate_seconds = coalesce(p_rate_seconds, s.rate_seconds)
        where s.tenant_id = p_tenant_id and s.slot_key = p_slot_key;
        -- Not found: a sweep removed the key while this waited for it.
        exit when found;
    end loop;
end
$$;

-- Refuses bad arguments of an enqueue, before anything is written.
-- Raises: SW001 naming the field; SW006 over a limit.
create or replace function stepwell._enqueue_input_check(
    p_payloads jsonb[], p_keys text[], p_priority int, p_concurrency_key text, p_max_concurrency int, p_trace_id text,
    p_rate_count int, p_rate_seconds double precision
) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_batch_limit constant int := stepwell._limit('limits.enqueue_batch');
begin
    if coalesce(cardinality(p_payloads), 0) = 0 then
        raise exception using errcode = 'SW001', message = 'payloads: at least one is required';
    end if;
    if cardinality(p_payloads) > v_batch_limit then
        raise exception using errcode = 'SW006',
            message = format('payloads: %s jobs in one call are too many; at most %s are accepted', cardinality(p_payloads), v_batch_limit);
    end if;
    if p_keys is not null and (cardinality(p_keys) <> cardinality(p_payloads) or array_position(p_keys, null) is not null) then
        raise exception using errcode = 'SW001', message = 'keys: one for each job is required, or none at all';
    end if;
    if p_priority not between -1000 and 1000 then
        raise exception using errcode = 'SW001', message = 'priority: must be between -1000 and 1000';
    end if;
    if p_max_concurrency < 1 or (p_max_concurrency is not null and p_concurrency_key is null) then
        raise exception using errcode = 'SW001', message = 'max_concurrency: 1 or more is accepted, together with a concurrency_key';
    end if;
    if (p_rate_count is null) <> (p_rate_seconds is null) or p_rate_count < 1 or p_rate_seconds <= 0
        or (p_rate_count is not null and p_concurrency_key is null) then
        raise exception using errcode = 'SW001', column = 'rate_limit',
            message = 'rate_limit: 1 or more within a time above zero is accepted, together with a concurrency_key';
    end if;
    if p_trace_id !~ '^[0-9a-f]{32}$' then
        raise exception using errcode = 'SW001', message = 'trace_id: must be 32 lowercase hex digits (W3C trace context)';
    end if;
    if exists (select from unnest(p_payloads) as i (payload) where jsonb_typeof(i.payload) <> 'object') then
        raise exception using errcode = 'SW001', message = 'payloads: each payload must be an object of named values';
    end if;
    perform stepwell._values_check('payloads', 'payloads', p_payloads, 'limits.payload_bytes');
end
$$;

-- The operation of a name; a new one is registered with the defaults of the default class.
-- Raises: SW001 when the name is empty or too long.
create or replace function stepwell._operation_of(p_tenant_id int, p_operation_name text) returns stepwell.operation
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_operation stepwell.operation;
begin
    select o.* into v_operation
    from stepwell.operation as o
    where o.tenant_id = p_tenant_id and o.operation_name = p_operation_name;
    if found then
        return v_operation;
    end if;
    if coalesce(length(p_operation_name), 0) not between 1 and 200 then
        raise exception using errcode = 'SW001', message = 'operation: a name of 1 to 200 characters is required';
    end if;
    perform stepwell._secret_refuse('operation', p_operation_name);
    insert into stepwell.operation (tenant_id, operation_name, executor_class_id)
    select p_tenant_id, p_operation_name, c.executor_class_id from stepwell.executor_class as c where c.class_name = 'default'
    on conflict (tenant_id, operation_name) do update set operation_name = excluded.operation_name
    returning operation.* into v_operation;
    return v_operation;
end
$$;
