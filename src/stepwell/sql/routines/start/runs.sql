-- Runs start: n of one workflow in one call, one for each trigger.

-- Starts n runs of a workflow in one call: run, every known step and the first jobs, in one transaction. A (tenant,
-- trigger_type, trigger_ref) that was used before returns the run it started. With p_is_watched the end of the new runs
-- is notified, as fn_runs_watch says; a run that existed before is not watched by this call. Idle workers are notified.
-- Locks: none on existing rows; the unique index of the trigger decides between two concurrent starts.
-- Idempotency: by trigger.
-- Raises: SW001 for bad input; SW002 when the workflow, version or workspace does not exist; SW006 over a limit; SW007
--   for another tenant.
create or replace function stepwell.fn_run_start(
    p_tenant_id int,
    p_workflow_name text,
    p_inputs jsonb[],
    p_trigger_refs text[] default null,
    p_trigger_type text default null,
    p_actor text default 'client',
    p_version_no int default null,
    p_priority int default 0,
    p_trace_id text default null,
    p_correlation_id text default null,
    p_is_watched boolean default false,
    p_workspace text default null
) returns table (run_id bigint, is_new boolean)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_started record;
begin
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'run.start');
    v_started := stepwell._runs_start(p_tenant_id, p_workflow_name, p_inputs, p_trigger_refs, p_trigger_type, p_actor,
        p_version_no, p_priority, p_trace_id, p_correlation_id, p_is_watched, p_workspace => p_workspace);
    return query
    select s.run_id, s.is_new
    from stepwell._runs_started(p_tenant_id, coalesce(p_trigger_type, p_workflow_name), p_trigger_refs, v_started.new_ids) as s;
end
$$;

-- Starts runs as fn_run_start, and labels those that are new, all of them the same.
-- Locks: as fn_run_start; then the rows of the new runs.
-- Idempotency: by trigger; a run that existed before keeps its labels.
-- Raises: as fn_run_start; SW001 naming the label; SW006 for too many.
create or replace function stepwell.fn_run_start_labelled(
    p_labels jsonb,
    p_tenant_id int,
    p_workflow_name text,
    p_inputs jsonb[],
    p_trigger_refs text[] default null,
    p_trigger_type text default null,
    p_actor text default 'client',
    p_version_no int default null,
    p_priority int default 0,
    p_trace_id text default null,
    p_correlation_id text default null,
    p_is_watched boolean default false,
    p_workspace text default null
) returns table (run_id bigint, is_new boolean)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_started record;
begin
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'run.start');
    select array_agg(s.run_id order by s.place) as run_ids, array_agg(s.is_new order by s.place) as are_new,
        array_agg(s.run_id) filter (where s.is_new) as new_ids
    into v_started
    from stepwell.fn_run_start(p_tenant_id, p_workflow_name, p_inputs, p_trigger_refs, p_trigger_type, p_actor, p_version_no,
        p_priority, p_trace_id, p_correlation_id, p_is_watched, p_workspace) with ordinality as s (run_id, is_new, place);
    perform stepwell._labels_set(p_tenant_id, coalesce(v_started.new_ids, '{}'), p_labels, p_actor, 'pic_human');
    return query select s.run_id, s.is_new from unnest(v_started.run_ids, v_started.are_new) as s (run_id, is_new);
end
$$;

-- Starts one run for a client with a worker in the same process, and leases to the session of that worker what it has
-- room for, in the same commit: so the first step needs no notification, no queue and no claim. It gets what any claim
-- would get. The first row is of kind `started`: the column of the unit has the run, that of the lease number says
-- whether it is new.
-- Locks: as fn_run_start, then as fn_job_claim.
-- Idempotency: by trigger; the claim as fn_job_claim.
-- Raises: as fn_run_start; SW005 when the session has ended, and then nothing is started.
create or replace function stepwell.fn_run_start_here(
    p_session_key bigint,
    p_claim_limit int,
    p_tenant_id int,
    p_workflow_name text,
    p_inputs jsonb[],
    p_trigger_refs text[] default null,
    p_trigger_type text default null,
    p_actor text default 'client',
    p_version_no int default null,
    p_priority int default 0,
    p_trace_id text default null,
    p_correlation_id text default null,
    p_is_watched boolean default false,
    p_workspace text default null
) returns setof stepwell.job_lease
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
set stepwell.notifies = 'at_end'
as $$
declare
    v_session record;
    v_started record;
begin
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'run.start');
    v_session := stepwell._session_of(p_session_key);
    v_started := stepwell._runs_start(p_tenant_id, p_workflow_name, p_inputs, p_trigger_refs, p_trigger_type, p_actor,
        p_version_no, p_priority, p_trace_id, p_correlation_id, p_is_watched, v_session.session_id, v_session.executor_class_ids,
        p_claim_limit, v_session.handler_ids, p_workspace);
    return query
    select 'started', p_tenant_id, s.run_id, s.is_new::int, null::bigint, null, null::int, null::int, null::real,
        null, null::jsonb, null::jsonb, null::jsonb, null::jsonb, null, null, null::timestamptz
    from stepwell._runs_started(p_tenant_id, coalesce(p_trigger_type, p_workflow_name), p_trigger_refs, v_started.new_ids) as s;
    return query
    select c.* from stepwell._claim(v_session.session_id, v_session.executor_class_ids, v_session.is_idle, p_claim_limit, v_session.now,
        p_tenant_id, v_started.direct_ids, v_started.new_ids is not null and not v_started.leaves_more,
        v_session.handler_ids) as c;
    if v_started.leaves_more then
        perform stepwell._workers_wake(null);
    end if;
end
$$;

-- Starts n runs of a workflow; a (tenant, trigger_type, trigger_ref) that was used before starts nothing. When the
-- caller names a session, first steps get a direct lease to it, as _run_create says.
-- Raises: SW001 for bad input; SW002 when the workflow or version does not exist; SW006 over a limit.
create or replace function stepwell._runs_start(
    p_tenant_id int, p_workflow_name text, p_inputs jsonb[], p_trigger_refs text[], p_trigger_type text, p_actor text,
    p_version_no int, p_priority int, p_trace_id text, p_correlation_id text, p_is_watched boolean,
    p_session_id bigint default null, p_executor_class_ids int[] default null, p_direct_limit int default 0,
    p_handler_ids int[] default null, p_workspace text default null, p_is_emit boolean default false, out new_ids bigint[], out direct_ids bigint[], out leaves_more boolean
)
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := stepwell.now();
    v_version stepwell.workflow_version;
    v_workspace_id int;
    v_created record;
begin
    if p_workspace is not null then
        v_workspace_id := stepwell._workspace_find(p_tenant_id, p_workspace);
    end if;
    perform stepwell._start_input_check(p_inputs, p_trigger_refs, p_priority, p_trace_id);
    perform stepwell._secret_refuse('trigger_type', p_trigger_type);
    p_correlation_id := stepwell._redact_text(p_correlation_id);
    v_version := stepwell._version_find(p_tenant_id, p_workflow_name, p_version_no);
    if p_trigger_type ~ '^MOT:' and not p_is_emit then
        raise exception using errcode = 'SW001', column = 'trigger_type',
            message = 'trigger_type: names that begin with MOT: belong to templates of job graphs';
    end if;
    if v_version.is_template and not p_is_emit then
        perform stepwell._startable_find(p_tenant_id, p_workflow_name, p_version_no);
    end if;
    if v_version.input_schema is not null then
        perform stepwell._start_schema_check(
            p_tenant_id, v_version.input_schema, p_inputs, coalesce(p_trigger_type, p_workflow_name), p_trigger_refs);
    end if;
    if v_version.maps_input then
        perform stepwell._start_maps_check(v_version, p_inputs);
    end if;
    with fresh as (
        insert into stepwell.run_detail (
            tenant_id, run_id, version_id, workflow_id, trigger_type, trigger_ref, input, trace_id, correlation_id,
            started_by, next_unit_no, created_at, is_watched)
        select
            p_tenant_id, nextval('stepwell.run_seq'), v_version.version_id, v_version.workflow_id,
            coalesce(p_trigger_type, p_workflow_name), q.trigger_ref, coalesce(q.input, '{}'), p_trace_id, p_correlation_id,
            p_actor, v_version.step_count + 1, v_now, p_is_watched
        from unnest(p_inputs, p_trigger_refs) with ordinality as q (input, trigger_ref, ord)
        order by q.trigger_ref, q.ord
        on conflict do nothing
        returning run_id
    )
    select array_agg(f.run_id order by f.run_id) into new_ids from fresh as f;
    leaves_more := false;
    if new_ids is not null then
        perform stepwell._start_rate_check(p_tenant_id, v_version.workflow_id, v_now);
        if v_workspace_id is not null then
            perform stepwell._workspace_rate_check(p_tenant_id, v_workspace_id, cardinality(new_ids), v_now);
        end if;
        v_created := stepwell._run_create(p_tenant_id, v_version, new_ids, p_priority, p_actor, p_session_id => p_session_id,
            p_executor_class_ids => p_executor_class_ids, p_direct_limit => p_direct_limit, p_handler_ids => p_handler_ids,
            p_workspace_id => v_workspace_id);
        direct_ids := v_created.direct_ids;
        leaves_more := v_created.leaves_more;
    end if;
end
$$;

-- The runs that a start returns, in the order of the request: the new ones, and for a trigger that was used before the
-- run it started.
create or replace function stepwell._runs_started(
    p_tenant_id int, p_trigger_type text, p_trigger_refs text[], p_new_ids bigint[]
) returns table (run_id bigint, is_new boolean)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    if p_trigger_refs is null then
        return query select n.run_id, true from unnest(p_new_ids) as n (run_id) order by n.run_id;
        return;
    end if;
    return query
    select r.run_id, r.run_id in (select n.run_id from unnest(p_new_ids) as n (run_id))
    from unnest(p_trigger_refs) with ordinality as q (trigger_ref, ord)
    cross join lateral (
        select x.run_id from stepwell.run_detail as x
        where x.tenant_id = p_tenant_id and x.trigger_type = p_trigger_type and x.trigger_ref = q.trigger_ref offset 0
    ) as r
    order by q.ord;
end
$$;

-- Refuses an input that the workflow does not accept. A trigger seen before starts nothing and is not checked.
-- Raises: SW001 naming the field.
create or replace function stepwell._start_schema_check(
    p_tenant_id int, p_schema jsonb, p_inputs jsonb[], p_trigger_type text, p_trigger_refs text[]
) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_input record;
    v_problem text;
begin
    for v_input in
        select coalesce(q.input, '{}') as value,
            case when cardinality(p_inputs) = 1 then 'input' else format('inputs[%s]', q.ord - 1) end as path
        from unnest(p_inputs, p_trigger_refs) with ordinality as q (input, trigger_ref, ord)
        where not exists (select from stepwell.run_detail as r
            where r.tenant_id = p_tenant_id and r.trigger_type = p_trigger_type and r.trigger_ref = q.trigger_ref)
        order by q.ord
    loop
        v_problem := stepwell._schema_problem(p_schema, v_input.value, v_input.path);
        if v_problem is not null then
            raise exception using errcode = 'SW001', message = v_problem, column = split_part(v_problem, ' ', 1);
        end if;
    end loop;
end
$$;

-- Refuses an input with a list that is too long for the Map that reads it.
-- Raises: SW006.
create or replace function stepwell._start_maps_check(p_version stepwell.workflow_version, p_inputs jsonb[]) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_problem text;
begin
    select case when cardinality(p_inputs) = 1 then 'input: ' else format('inputs[%s]: ', q.ord - 1) end || m.problem
    into v_problem
    from unnest(p_inputs) with ordinality as q (input, ord)
    cross join lateral (select stepwell._maps_input_problem(p_version, q.input)) as m (problem)
    where m.problem is not null
    order by q.ord
    limit 1;
    if v_problem is not null then
        raise exception using errcode = 'SW006', column = 'input', message = v_problem;
    end if;
end
$$;

-- Refuses bad arguments of a start, before anything is written.
-- Raises: SW001 naming the field; SW006 over a limit.
create or replace function stepwell._start_input_check(
    p_inputs jsonb[], p_trigger_refs text[], p_priority int, p_trace_id text
) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_batch_limit constant int := stepwell._limit('limits.start_batch');
begin
    if coalesce(cardinality(p_inputs), 0) = 0 then
        raise exception using errcode = 'SW001', message = 'inputs: at least one is required';
    end if;
    if cardinality(p_inputs) > v_batch_limit then
        raise exception using errcode = 'SW006',
            message = format('inputs: %s runs in one call are too many; at most %s are accepted', cardinality(p_inputs), v_batch_limit);
    end if;
    if p_trigger_refs is not null and cardinality(p_trigger_refs) <> cardinality(p_inputs) then
        raise exception using errcode = 'SW001', message = 'trigger_refs: one for each input is required, or none at all';
    end if;
    if p_priority not between -1000 and 1000 then
        raise exception using errcode = 'SW001', message = 'priority: must be between -1000 and 1000';
    end if;
    if p_trace_id !~ '^[0-9a-f]{32}$' then
        raise exception using errcode = 'SW001', message = 'trace_id: must be 32 lowercase hex digits (W3C trace context)';
    end if;
    if exists (select from unnest(p_inputs) as i (input)
        where jsonb_typeof(i.input) <> 'object' and i.input is not null) then
        raise exception using errcode = 'SW001', message = 'inputs: each input must be an object of named values';
    end if;
    perform stepwell._values_check('inputs', 'inputs', p_inputs, 'limits.payload_bytes');
    if exists (select from unnest(p_trigger_refs) as t (trigger_ref) where length(t.trigger_ref) not between 1 and 500) then
        raise exception using errcode = 'SW001', message = 'trigger_refs: each must have 1 to 500 characters';
    end if;
end
$$;

-- The id of a workspace.
-- Raises: SW002 when there is no such workspace.
create or replace function stepwell._workspace_find(p_tenant_id int, p_workspace text) returns int
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_workspace_id int;
begin
    select w.workspace_id into v_workspace_id from stepwell.workspace as w
    where w.tenant_id = p_tenant_id and w.workspace_name = p_workspace;
    if not found then
        raise exception using errcode = 'SW002', column = 'workspace', message = format('workspace %s does not exist', p_workspace),
            hint = coalesce((select 'known are ' || string_agg(w.workspace_name, ', ' order by w.workspace_name)
                from stepwell.workspace as w where w.tenant_id = p_tenant_id having count(*) between 1 and 20), '');
    end if;
    return v_workspace_id;
end
$$;

-- Enforces the cap on runs of a workspace that start within a minute, before the new ones are counted in it.
-- Locks: an advisory lock of the tenant's starts, when there is a cap.
-- Raises: SW006 saying when the next start is possible.
create or replace function stepwell._workspace_rate_check(p_tenant_id int, p_workspace_id int, p_new_count int, p_now timestamptz) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_cap stepwell.workspace;
    v_free_at timestamptz;
begin
    select w.* into v_cap from stepwell.workspace as w where w.tenant_id = p_tenant_id and w.workspace_id = p_workspace_id;
    if v_cap.max_runs_per_min is null then
        return;
    end if;
    perform pg_advisory_xact_lock(hashtext('stepwell.start'), p_tenant_id);
    select r.created_at + interval '1 minute' into v_free_at
    from stepwell.run_progress as p
    inner join stepwell.run_detail as r on p.tenant_id = r.tenant_id and p.run_id = r.run_id
    where p.tenant_id = p_tenant_id and p.workspace_id = p_workspace_id and p.parent_run_id is null
    order by p.run_id desc offset greatest(v_cap.max_runs_per_min - p_new_count, 0) limit 1;
    if v_free_at > p_now or p_new_count > v_cap.max_runs_per_min then
        raise exception using errcode = 'SW006', column = 'max_runs_per_min', message = format(
            'workspace %s may start %s runs a minute; try again at %s', v_cap.workspace_name, v_cap.max_runs_per_min,
            to_char(coalesce(v_free_at, p_now + interval '1 minute') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'));
    end if;
end
$$;
