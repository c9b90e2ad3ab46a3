-- What a handler, or its worker for it, may ask and write while it runs and has its lease.

-- Evaluates the expressions of a leased step that are too costly for a claim, a report or a timer, within
-- limits.expression_cost_alone: the inputs of an operation or a sub-workflow, the test of a conditional, the list of a Map.
-- It is a transaction of its own that holds no lock, so nobody waits for it, however long it takes. The lease is checked
-- now, and once more when the worker reports. Returns an object with the value or the problem; with neither when the
-- expression found nothing.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW005 when the session does not have the lease any more; SW007 for the generator; 57014 when it is cancelled.
create or replace function stepwell.fn_expression_evaluate(
    p_session_key bigint, p_tenant_id int, p_unit_id bigint, p_lease_no int
) returns jsonb
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_step record;
    v_found record;
begin
    if coalesce(current_setting('stepwell.binding', true), '') <> '' then
        perform stepwell._executes_check();
    end if;
    select d.step_kind, d.config, d.inputs, case when u.item_no is not null and d.step_kind = 'operation'
        then stepwell._item_read(u.tenant_id, u.parent_id, u.item_no) end as item
    into v_step
    from stepwell.work_unit as u
    inner join stepwell.worker_session as s on u.lease_session_id = s.session_id
    inner join stepwell.workflow_step_def as d
        on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id and u.lease_no = p_lease_no
        and s.session_key_hash = sha256(int8send(p_session_key)) and s.closed_at is null and s.expires_at >= stepwell.now();
    if not found then
        perform stepwell._lease_lost(p_tenant_id, p_unit_id);
    end if;
    v_found := stepwell._step_evaluate(p_tenant_id, p_unit_id, v_step.step_kind, v_step.config, v_step.inputs, true);
    return case
        when v_found.problem is not null then jsonb_build_object('problem', v_found.problem)
        when v_found.value is null then '{}'
        when v_step.item is null then jsonb_build_object('value', v_found.value)
        else jsonb_build_object('value', v_step.item || v_found.value) end;
end
$$;

-- Stores the result of a named part of a handler's work, so that a later attempt does not repeat it.
-- Locks: the unit row (shared), so that it cannot lose its lease meanwhile.
-- Idempotency: the first value of a name stays and is returned.
-- Raises: SW005 when the session does not have the lease any more; SW006 over a limit; SW007 for the generator.
create or replace function stepwell.fn_checkpoint_save(
    p_session_key bigint, p_tenant_id int, p_unit_id bigint, p_lease_no int, p_name text, p_value jsonb
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_session_id constant bigint := stepwell._lease_hold(p_session_key, p_tenant_id, p_unit_id, p_lease_no);
    v_value jsonb;
begin
    if coalesce(current_setting('stepwell.binding', true), '') <> '' then
        perform stepwell._executes_check();
    end if;
    if coalesce(length(p_name), 0) not between 1 and 200 then
        raise exception using errcode = 'SW006', message = 'checkpoint name: 1 to 200 characters are accepted';
    end if;
    perform stepwell._secret_refuse('checkpoint name', p_name);
    perform stepwell._values_check('value', 'checkpoint ' || p_name, array[p_value], 'limits.checkpoint_bytes');
    perform stepwell._checkpoint_count_check(p_tenant_id, p_unit_id, p_name);
    insert into stepwell.unit_checkpoint (tenant_id, unit_id, checkpoint_name, checkpoint_value, lease_no, saved_at)
    values (p_tenant_id, p_unit_id, p_name, coalesce(p_value, 'null'), p_lease_no, stepwell.now())
    on conflict (tenant_id, unit_id, checkpoint_name) do nothing
    returning checkpoint_value into v_value;
    if found then
        perform stepwell._event_append(p_tenant_id, p_unit_id, 'checkpoint.saved', 'session:' || v_session_id,
            jsonb_build_object('name', p_name), 'executor_worker');
        return v_value;
    end if;
    select c.checkpoint_value into v_value
    from stepwell.unit_checkpoint as c
    where c.tenant_id = p_tenant_id and c.unit_id = p_unit_id and c.checkpoint_name = p_name;
    return v_value;
end
$$;

-- Refuses one saved result too many of a unit; one that is there already may be asked for again.
-- Raises: SW006 over the limit.
create or replace function stepwell._checkpoint_count_check(p_tenant_id int, p_unit_id bigint, p_name text) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_limit constant int := stepwell._limit('limits.checkpoint_count');
begin
    if (select count(*) from stepwell.unit_checkpoint as c
        where c.tenant_id = p_tenant_id and c.unit_id = p_unit_id and c.checkpoint_name <> p_name) >= v_limit then
        raise exception using errcode = 'SW006', column = 'name', message = format(
            'checkpoint %s: this step has saved %s results already; at most %s are accepted', p_name, v_limit, v_limit);
    end if;
end
$$;

-- Stores how far handlers of this session are, all of them in one call. Only the last word counts, so a worker sends it
-- rarely. A unit whose lease this session does not have is left out. Returns how many were stored.
-- Locks: none but the rows it writes, in order. A word that is overtaken by the end of its attempt belongs to a lease that
--   nobody is shown.
-- Idempotency: yes.
-- Raises: SW001 for numbers below zero or not finite, or a note of more than 200 characters; SW007 for the generator.
create or replace function stepwell.fn_progress_save(
    p_session_key bigint, p_tenant_ids int[], p_unit_ids bigint[], p_lease_nos int[], p_dones float8[], p_totals float8[],
    p_notes text[]
) returns int
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_count int;
begin
    if coalesce(current_setting('stepwell.binding', true), '') <> '' then
        perform stepwell._executes_check();
    end if;
    if exists (select from unnest(p_dones, p_totals, p_notes) as q (done, total, note)
        where q.done is null or not (q.done >= 0 and q.done < 'infinity') or not (q.total >= 0 and q.total < 'infinity')
            or length(q.note) > 200) then
        raise exception using errcode = 'SW001', column = 'progress',
            message = 'progress: finite numbers from 0 are accepted, and a note of at most 200 characters';
    end if;
    insert into stepwell.unit_progress as p (tenant_id, unit_id, lease_no, done, total, note, said_at)
    select q.tenant_id, q.unit_id, q.lease_no, q.done, q.total, stepwell._redact_text(q.note), v_now
    from unnest(p_tenant_ids, p_unit_ids, p_lease_nos, p_dones, p_totals, p_notes)
        as q (tenant_id, unit_id, lease_no, done, total, note)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    inner join stepwell.worker_session as s on u.lease_session_id = s.session_id
    where s.session_key_hash = sha256(int8send(p_session_key)) and u.lease_no = q.lease_no and s.closed_at is null and s.expires_at >= v_now
    order by q.tenant_id, q.unit_id
    on conflict (tenant_id, unit_id) do update set
        lease_no = excluded.lease_no, done = excluded.done, total = excluded.total, note = excluded.note, said_at = excluded.said_at
    where p.lease_no <= excluded.lease_no;
    get diagnostics v_count = row_count;
    return v_count;
end
$$;

-- Appends an event of a handler to the log while it has the lease.
-- Locks: the unit row (shared), so that it cannot lose its lease meanwhile.
-- Idempotency: none; a handler that may run twice emits inside ctx.step.
-- Raises: SW004 when the type is not registered (fn_event_type_register) or the payload breaks its schema; SW005 when the
--   session does not have the lease any more; SW006 when the payload is too large; SW007 for the generator.
create or replace function stepwell.fn_event_emit(
    p_session_key bigint, p_tenant_id int, p_unit_id bigint, p_lease_no int, p_type text, p_payload jsonb
) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_session_id constant bigint := stepwell._lease_hold(p_session_key, p_tenant_id, p_unit_id, p_lease_no);
begin
    if coalesce(current_setting('stepwell.binding', true), '') <> '' then
        perform stepwell._executes_check();
    end if;
    perform stepwell._values_check('payload', 'event ' || p_type, array[p_payload], 'limits.payload_bytes');
    perform stepwell._handler_event_append(p_tenant_id, p_unit_id, v_session_id, p_type, p_payload);
end
$$;

-- Labels the run of a unit while its session has the lease. A value that is null removes its label. Returns the labels that
-- the run has after it.
-- Locks: the unit row (shared), so that it cannot lose its lease meanwhile; then as fn_run_label.
-- Idempotency: labels that are so already change nothing.
-- Raises: SW005 when the session does not have the lease any more; SW001 and SW006 as fn_run_label; SW007 for the
--   generator.
create or replace function stepwell.fn_run_label_here(
    p_session_key bigint, p_tenant_id int, p_unit_id bigint, p_lease_no int, p_labels jsonb
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_session_id constant bigint := stepwell._lease_hold(p_session_key, p_tenant_id, p_unit_id, p_lease_no);
    v_labels jsonb;
begin
    if coalesce(current_setting('stepwell.binding', true), '') <> '' then
        perform stepwell._executes_check();
    end if;
    select l.labels into v_labels from stepwell._labels_set(p_tenant_id, array[stepwell._run_of(p_unit_id)], p_labels,
        'session:' || v_session_id, 'executor_worker') as l;
    return v_labels;
end
$$;
