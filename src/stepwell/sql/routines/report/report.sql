-- A worker reports a batch of outcomes and gets its next leases in the same call: one round trip, one commit.

-- Accepts the outcomes of a batch and, when the worker has free slots, leases the next units in the same call: check
-- the leases, change states, advance the graph, count, append events, claim. Outcomes: completed, failed, retry, dead,
-- waiting, sleep, released, evaluated, oversized. Bodies are JSON texts: the output of a completed unit, the details of the
-- others.
-- Workers send units in ascending order.
-- Locks: the runs in order, then units.
-- Idempotency: a report is accepted once, while its lease (session, lease_no, expiry) is valid; a late or repeated one
--   changes nothing and is returned as a row of kind `refused`. An accepted one that failed is returned as a row of kind
--   `failed`, a run that ended as a row of kind `ended`.
-- Raises: SW001 for an unknown outcome or arrays of unequal length; 55P03 when a run is locked elsewhere (try again); SW007
--   for the generator.
create or replace function stepwell.fn_job_report(
    p_session_key bigint, p_tenant_ids int[], p_unit_ids bigint[], p_lease_nos int[], p_outcomes text[],
    p_bodies text[], p_claim_limit int default 0, p_locks_up boolean default false
) returns setof stepwell.job_lease
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
set stepwell.notifies = 'at_end'
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_session_id bigint;
    v_executor_class_ids int[];
    v_is_idle boolean;
    v_handler_ids int[];
    v_report record;
    v_is_frozen boolean;
    v_got_count int := 0;
begin
    if coalesce(current_setting('stepwell.binding', true), '') <> '' then
        perform stepwell._executes_check();
    end if;
    -- Read without a lock: a recovery that overtakes this report changes the units' leases, and the core sees that.
    select s.session_id, s.claim_class_ids, s.is_idle, s.handler_ids
    into v_session_id, v_executor_class_ids, v_is_idle, v_handler_ids
    from stepwell.worker_session as s
    where s.session_key_hash = sha256(int8send(p_session_key)) and s.closed_at is null and s.expires_at >= v_now;
    if v_executor_class_ids is null then
        -- The session has ended: nothing of it is taken.
        return query select r.* from stepwell._reports_refuse(p_tenant_ids, p_unit_ids, p_lease_nos, null) as r;
        return;
    end if;
    if 'oversized' = any (p_outcomes) or stepwell._bodies_are_suspect(p_bodies) then
        select l.outcomes, l.bodies into p_outcomes, p_bodies from stepwell._reports_limit(p_outcomes, p_bodies) as l;
    end if;
    if p_locks_up then
        perform stepwell._runs_lock_up(p_tenant_ids, p_unit_ids);
    end if;
    v_is_frozen := stepwell._runs_lock(p_tenant_ids, p_unit_ids);
    if p_outcomes <@ array['completed'] then
        v_report := stepwell._report_completed(v_session_id, p_tenant_ids, p_unit_ids, p_lease_nos, p_bodies, v_now,
            v_executor_class_ids, case when v_is_frozen then 0 else p_claim_limit end, v_handler_ids);
    else
        select r.* into v_report
        from stepwell._report_mixed(v_session_id, p_tenant_ids, p_unit_ids, p_lease_nos, p_outcomes, p_bodies, v_now,
            v_executor_class_ids) as r;
    end if;
    if coalesce(cardinality(v_report.taken_ids), 0) < cardinality(p_unit_ids) then
        return query select r.* from stepwell._reports_refuse(p_tenant_ids, p_unit_ids, p_lease_nos, v_report.taken_ids) as r;
    end if;
    if v_report.has_failures then
        return query select f.* from stepwell._failures_read(p_tenant_ids, p_unit_ids, p_lease_nos, v_report.taken_ids) as f;
    end if;
    if v_report.due_ids is not null then
        perform stepwell._runs_settle(v_report.due_tenant_ids, v_report.due_ids);
        return query select e.* from stepwell._ends_read(v_report.due_tenant_ids, v_report.due_ids) as e;
    end if;
    if p_claim_limit > 0 then
        return query
        select c.* from stepwell._claim(v_session_id, v_executor_class_ids, v_is_idle, p_claim_limit, v_now, p_tenant_ids[1],
            v_report.direct_ids, v_report.is_dry, v_handler_ids) as c;
        get diagnostics v_got_count = row_count;
    end if;
    if v_report.leaves_more then
        perform stepwell._workers_wake(null);
    elsif v_got_count >= p_claim_limit then
        -- This worker may have left something in the queue that an idle one could take.
        perform stepwell._workers_wake(v_executor_class_ids);
    end if;
end
$$;

-- Whether one of these texts may be a value that is too large, or that some workers cannot read (base/values.sql): it is
-- long, has many brackets, a long number, or a number with an exponent, which is short here and long when it is sent. Most
-- reports are short: a look at their characters is enough, and no limit is read.
create or replace function stepwell._bodies_are_suspect(p_bodies text[]) returns boolean
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    -- Of a number with more than 300 digits, a hundred stand together before or after its point.
    v_number constant text := '[0-9](?:[eE][+-]?[0-9]{3}|[0-9]{99})';
    v_limit int;
begin
    if array_to_string(p_bodies, ' ') ~ v_number then
        return true;
    end if;
    if pg_column_size(p_bodies) <= 100 then
        return false;
    end if;
    v_limit := case when pg_column_size(p_bodies) > 1000 then stepwell._limit('limits.payload_bytes') end;
    return exists (
        select from unnest(p_bodies) as b (body)
        where octet_length(b.body) > v_limit
            or (octet_length(b.body) > 30 and octet_length(b.body) - octet_length(replace(replace(b.body, '[', ''), '{', '')) > 15));
end
$$;

-- Reports with a body that is larger than allowed, or that some workers cannot read. A unit that completed, or waits, with
-- such a body fails for good: its handler would return it again. Of a failure only the size is kept. Oversized is what a
-- worker says instead of sending a result that is too large for any limit; the body is its size.
create or replace function stepwell._reports_limit(p_outcomes text[], p_bodies text[], out outcomes text[], out bodies text[])
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_limit constant int := stepwell._limit('limits.payload_bytes');
begin
    select
        array_agg(case when not s.is_large then s.outcome when s.outcome in ('failed', 'retry', 'released') then s.outcome
            else 'dead' end
            order by s.ord),
        array_agg(case when not s.is_large then s.body
            when s.what = 'error' then jsonb_build_object('error', jsonb_build_object(
                'type', 'ErrorTooLarge', 'message', s.problem))::text
            else jsonb_build_object('failure_class', 'result_too_large', 'error', jsonb_build_object(
                'type', 'ResultTooLarge', 'message', s.problem))::text end
            order by s.ord)
    into outcomes, bodies
    from (
        select q.ord, q.outcome, q.body, w.what, p.problem, p.problem is not null as is_large
        from unnest(p_outcomes, p_bodies) with ordinality as q (outcome, body, ord)
        cross join lateral (select case when q.outcome in ('failed', 'retry', 'dead', 'released') then 'error' else 'result' end as what) as w
        cross join lateral (select stepwell._body_problem(w.what, q.body, q.outcome = 'oversized', v_limit) as problem offset 0) as p
    ) as s;
end
$$;

-- Why the body of a report is not stored; null when it is. A body that is no JSON is refused where it is stored.
create or replace function stepwell._body_problem(p_what text, p_body text, p_is_oversized boolean, p_limit int) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_value jsonb;
    v_bytes int;
begin
    if p_is_oversized then
        return stepwell._too_large(p_what, p_body::bigint, p_limit);
    end if;
    if octet_length(p_body) <= p_limit then
        v_value := p_body::jsonb;
    end if;
    v_bytes := greatest(octet_length(p_body), stepwell._sent_size(v_value));
    return case when v_bytes > p_limit then stepwell._too_large(p_what, v_bytes, p_limit)
        else stepwell._values_problem(p_what, array[v_value]) end;
end
$$;

-- A batch in which not everything completed: splits it by outcome. Returns what _report_completed returns; every run is
-- to be settled.
-- Raises: SW001 for an unknown outcome.
create or replace function stepwell._report_mixed(
    p_session_id bigint, p_tenant_ids int[], p_unit_ids bigint[], p_lease_nos int[], p_outcomes text[], p_bodies text[],
    p_now timestamptz, p_executor_class_ids int[]
) returns table (
    taken_ids bigint[], direct_ids bigint[], due_tenant_ids int[], due_ids bigint[], is_dry boolean, leaves_more boolean,
    has_failures boolean
)
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_done record;
    v_other record;
    v_taken_ids bigint[];
    v_has_failures boolean := p_outcomes && array['failed', 'retry', 'dead'];
begin
    select
        array_agg(q.tenant_id order by q.unit_id) as tenant_ids, array_agg(q.unit_id order by q.unit_id) as unit_ids,
        array_agg(q.lease_no order by q.unit_id) as lease_nos, array_agg(q.body order by q.unit_id) as bodies
    into v_done
    from unnest(p_tenant_ids, p_unit_ids, p_lease_nos, p_outcomes, p_bodies)
        as q (tenant_id, unit_id, lease_no, outcome, body)
    where q.outcome = 'completed';
    select
        array_agg(q.tenant_id order by q.unit_id) as tenant_ids, array_agg(q.unit_id order by q.unit_id) as unit_ids,
        array_agg(q.lease_no order by q.unit_id) as lease_nos, array_agg(q.outcome order by q.unit_id) as outcomes,
        array_agg(q.body order by q.unit_id) as bodies
    into v_other
    from unnest(p_tenant_ids, p_unit_ids, p_lease_nos, p_outcomes, p_bodies)
        as q (tenant_id, unit_id, lease_no, outcome, body)
    where q.outcome <> 'completed';
    if v_done.unit_ids is not null then
        select c.taken_ids, v_has_failures or coalesce(c.has_failures, false) into v_taken_ids, v_has_failures
        from stepwell._report_completed(p_session_id, v_done.tenant_ids, v_done.unit_ids, v_done.lease_nos, v_done.bodies,
            p_now, p_executor_class_ids, 0) as c;
    end if;
    return query select v_taken_ids || stepwell._report_others(p_session_id, v_other.tenant_ids, v_other.unit_ids,
        v_other.lease_nos, v_other.outcomes, v_other.bodies), null::bigint[], p_tenant_ids, p_unit_ids, false, true,
        v_has_failures;
end
$$;

-- The rows that name the reports of a worker that were not accepted.
create or replace function stepwell._reports_refuse(
    p_tenant_ids int[], p_unit_ids bigint[], p_lease_nos int[], p_taken_ids bigint[]
) returns setof stepwell.job_lease
language sql stable
set search_path = stepwell, pg_temp
as $$
    select 'refused', q.tenant_id, q.unit_id, q.lease_no, null::bigint, null, null::int, null::int, null::real,
        null, null::jsonb, null::jsonb, null::jsonb, null::jsonb, null, null, null::timestamptz
    from unnest(p_tenant_ids, p_unit_ids, p_lease_nos) as q (tenant_id, unit_id, lease_no)
    where not q.unit_id = any (coalesce(p_taken_ids, '{}'))
$$;

-- The rows that name the accepted attempts of this report that failed. The class of the failure, its error and what comes next
-- are in the column of the input, the time of the next attempt in that of the deadline.
create or replace function stepwell._failures_read(
    p_tenant_ids int[], p_unit_ids bigint[], p_lease_nos int[], p_taken_ids bigint[]
) returns setof stepwell.job_lease
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return query
    select 'failed', f.tenant_id, f.unit_id, f.lease_no, null::bigint, o.operation_name, f.attempt_count::int,
        u.max_attempts::int, null::real, d.step_id,
        jsonb_build_object('class', f.failure_class, 'error', f.error, 'next',
            case when f.next_eligible_at is not null then 'retry' when u.failure_caught then 'caught' else 'none' end),
        null::jsonb, null::jsonb, null::jsonb, null, null, f.next_eligible_at
    from unnest(p_tenant_ids, p_unit_ids, p_lease_nos) as q (tenant_id, unit_id, lease_no)
    inner join stepwell.unit_failure as f
        on q.tenant_id = f.tenant_id and q.unit_id = f.unit_id and q.lease_no = f.lease_no
    inner join stepwell.work_unit as u on f.tenant_id = u.tenant_id and f.unit_id = u.unit_id
    inner join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
    left join stepwell.workflow_step_def as d
        on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    where q.unit_id = any (p_taken_ids);
end
$$;

-- The rows that name the runs that this report ended: its worker logs them, and a client in the worker's own process need
-- not ask the database for a watched one. The lease number says whether the run is watched, the state is in the column of
-- the operation, the workflow in that of the step, the seconds it took in that of the time limit, the result in that of
-- the input. Each run is looked up by itself (offset 0): in a join, a plan for young tables reads all runs that ever ended.
create or replace function stepwell._ends_read(p_tenant_ids int[], p_unit_ids bigint[]) returns setof stepwell.job_lease
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return query
    select 'ended', r.tenant_id, r.run_id, r.is_watched::int, null::bigint, r.finished_state, null::int, null::int,
        extract(epoch from r.finished_at - r.created_at)::real, w.workflow_name,
        case when r.is_watched and r.finished_state = 'completed' then stepwell._run_result(r.tenant_id, r.run_id) end,
        null::jsonb, null::jsonb, null::jsonb, null, null, null::timestamptz
    from (
        select distinct q.tenant_id, stepwell._run_of(q.unit_id) as run_id
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    ) as s
    cross join lateral (
        select d.* from stepwell.run_detail as d where d.tenant_id = s.tenant_id and d.run_id = s.run_id offset 0
    ) as r
    cross join lateral (
        select x.workflow_name from stepwell.workflow_registry as x
        where x.tenant_id = r.tenant_id and x.workflow_id = r.workflow_id offset 0
    ) as w
    where r.finished_at is not null;
end
$$;
