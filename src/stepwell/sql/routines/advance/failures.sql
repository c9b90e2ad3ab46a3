-- A step failed: it is tried again after a backoff, or it ends for good and the steps that depend on it are cancelled.
-- Callers hold the locks of the runs and have checked the leases. SW004: the registry refuses.

-- Units whose attempt failed. The failure is classified. A transient one with attempts left gets a retry timer
-- (exponential backoff, full jitter, capped). Any other ends as cannot_complete with a dead letter.
create or replace function stepwell._units_fail(
    p_tenant_ids int[], p_unit_ids bigint[], p_bodies jsonb[], p_actor_class text, p_session_id bigint default null
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_failed_at constant timestamptz := stepwell._failures_store(p_tenant_ids, p_unit_ids, p_bodies);
    v_payloads jsonb[];
begin
    select array_agg(jsonb_build_object('classification', f.classification, 'failure_class', f.failure_class,
        'attempt', f.attempt_count, 'error', f.error) order by q.ord) into v_payloads
    from unnest(p_tenant_ids, p_unit_ids) with ordinality as q (tenant_id, unit_id, ord)
    inner join stepwell.unit_failure as f
        on q.tenant_id = f.tenant_id and q.unit_id = f.unit_id and f.failed_at = v_failed_at;
    perform stepwell._units_move(p_tenant_ids, p_unit_ids, 'failed', p_actor_class, 'event', 'executor_failure',
        case when p_session_id is null then 'engine' end,
        case when p_session_id is null then
            array_fill('{"audit_ref": "engine"}'::jsonb, array[cardinality(p_unit_ids)]) end,
        v_payloads, p_session_id => p_session_id);
    perform stepwell._failures_follow(p_tenant_ids, p_unit_ids, v_failed_at);
end
$$;

-- Stores the failures of an attempt before the units change their state. Returns the time under which they are stored:
-- it is later than every failure before it, also where the clock did not move, so it tells the failures of this call.
create or replace function stepwell._failures_store(p_tenant_ids int[], p_unit_ids bigint[], p_bodies jsonb[])
returns timestamptz
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_failed_at constant timestamptz := greatest(v_now, (
        select max(f.failed_at) + interval '1 microsecond' from stepwell.unit_failure as f
        inner join unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
            on f.tenant_id = q.tenant_id and f.unit_id = q.unit_id));
begin
    insert into stepwell.unit_failure (
        tenant_id, unit_id, lease_no, failure_class, classification, error, attempt_count, failed_at, next_eligible_at)
    select f.tenant_id, f.unit_id, f.lease_no, f.failure_class, f.classification, f.error, f.attempt_count, v_failed_at,
        f.next_eligible_at
    from stepwell._failures_judge(p_tenant_ids, p_unit_ids, p_bodies, v_now) as f;
    return v_failed_at;
end
$$;

-- What follows from failures that are stored: a retry timer, or the end where no attempt is left.
create or replace function stepwell._failures_follow(p_tenant_ids int[], p_unit_ids bigint[], p_failed_at timestamptz)
returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_dead record;
begin
    insert into stepwell.timer (tenant_id, unit_id, timer_kind, due_at)
    select f.tenant_id, f.unit_id, 'retry', f.next_eligible_at
    from stepwell.unit_failure as f
    inner join unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        on f.tenant_id = q.tenant_id and f.unit_id = q.unit_id
    where f.failed_at = p_failed_at and f.next_eligible_at is not null
    on conflict (tenant_id, unit_id, timer_kind) do update set due_at = excluded.due_at;
    select array_agg(f.tenant_id order by f.unit_id) as tenant_ids, array_agg(f.unit_id order by f.unit_id) as unit_ids
    into v_dead
    from stepwell.unit_failure as f
    inner join unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        on f.tenant_id = q.tenant_id and f.unit_id = q.unit_id
    where f.failed_at = p_failed_at and f.next_eligible_at is null;
    if v_dead.unit_ids is not null then
        perform stepwell._units_bury(v_dead.tenant_ids, v_dead.unit_ids);
    end if;
end
$$;

-- An error as it is stored: without secrets; one that is larger than the limit keeps its type and the beginning of its message.
create or replace function stepwell._error_kept(p_error jsonb) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select stepwell._redact(case when octet_length(p_error::text) <= l.bytes then p_error
        else jsonb_build_object('type', left(p_error ->> 'type', 200),
            'message', left(coalesce(p_error ->> 'message', p_error::text), greatest(l.bytes / 4, 1)), 'is_cut', true) end,
        stepwell._redaction_pattern())
    from (select stepwell._limit('limits.error_bytes') as bytes) as l
$$;

-- Classifies failures: the failure class by its name or by the name of the exception; transient or permanent by the
-- registry, the operation and the step. Computes when the next attempt may start; null when there is none. The jitter
-- comes from the unit and the attempt, so that the same failure always gives the same time.
create or replace function stepwell._failures_judge(
    p_tenant_ids int[], p_unit_ids bigint[], p_bodies jsonb[], p_now timestamptz
) returns table (
    ord bigint, tenant_id int, unit_id bigint, lease_no int, failure_class text, classification text, error jsonb,
    attempt_count smallint, next_eligible_at timestamptz
)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select
        q.ord, q.tenant_id, q.unit_id, u.lease_no, c.failure_class, k.classification,
        stepwell._error_kept(coalesce(q.body -> 'error', '{}')), (u.attempt_count + 1)::smallint,
        case when k.classification = 'transient' and u.attempt_count + 1 < u.max_attempts
            -- The time for retries ends with the deadline of the step: none is later, and none follows one that failed after it.
            and (not u.has_deadline or u.deadline_at is null or u.deadline_at > p_now) then least(
            case when u.deadline_at > p_now then u.deadline_at end, p_now + make_interval(secs =>
            coalesce((q.body ->> 'delay_seconds')::float,
                -- Of a list of delays the last one repeats; each is taken within a tenth of it.
                x.delays[least(u.attempt_count + 1, cardinality(x.delays))] * (0.9 + 0.2 * j.jitter),
                least(coalesce((d.config -> 'retry' ->> 'max_seconds')::float, o.retry_max_seconds),
                    coalesce((d.config -> 'retry' ->> 'initial_seconds')::float, o.retry_initial_seconds)
                    * power(m.multiplier, least(u.attempt_count, 80 / nullif(abs(ln(m.multiplier)), 0))))
                * j.jitter)))
        end
    from unnest(p_tenant_ids, p_unit_ids, p_bodies) with ordinality as q (tenant_id, unit_id, body, ord)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    left join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
    left join stepwell.workflow_step_def as d
        on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    cross join lateral (select coalesce(
        (select r.failure_class from stepwell.failure_class_registry as r
            where r.failure_class = q.body ->> 'failure_class'),
        (select r.failure_class from stepwell.failure_class_registry as r
            where q.body -> 'error' ->> 'type' = any (r.exception_names) order by r.failure_class limit 1),
        'handler_error')) as c (failure_class)
    cross join lateral (select case
        when q.body ->> 'outcome' = 'dead'
            or q.body -> 'error' ->> 'type' = any (o.non_retryable)
            or d.config -> 'retry' -> 'non_retryable' @> (q.body -> 'error' -> 'type') then 'permanent'
        when q.body ->> 'outcome' = 'retry' then 'transient'
        else (select r.classification from stepwell.failure_class_registry as r where r.failure_class = c.failure_class)
        end) as k (classification)
    -- Above 0; and the exponent above is limited, so that no number of attempts leaves the range of the type.
    cross join lateral (select greatest(
        coalesce((d.config -> 'retry' ->> 'multiplier')::float, o.retry_multiplier), 0.001)) as m (multiplier)
    cross join lateral (select
        (hashint8extended(q.unit_id, u.attempt_count + (u.lease_no::bigint << 16)) & 1048575) / 1048576.0) as j (jitter)
    -- The retry rule of a step replaces that of its operation.
    cross join lateral (select case when d.config ? 'retry'
        then (select array_agg(e.value::float order by e.ord) from jsonb_array_elements_text(d.config -> 'retry' -> 'delays_seconds')
            with ordinality as e (value, ord))
        else o.retry_delays_seconds::float[] end) as x (delays)
    order by q.ord
$$;

-- Failed units that are not tried again: they become cannot_complete, get a dead letter, and their dependents are
-- cancelled.
create or replace function stepwell._units_bury(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._units_move(p_tenant_ids, p_unit_ids, 'cannot_complete', 'escalation_handler', 'rpc', 'escalate',
        'engine', array_fill('{"audit_ref": "engine", "classification": "permanent"}'::jsonb, array[cardinality(p_unit_ids)]));
    perform stepwell._dead_letters_store(p_tenant_ids, p_unit_ids);
    perform stepwell._dependents_abort(p_tenant_ids, p_unit_ids);
end
$$;

-- The dead letters of units that ended as cannot_complete after a failure: their last failure.
create or replace function stepwell._dead_letters_store(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language sql volatile
set search_path = stepwell, pg_temp
as $$
    insert into stepwell.job_dead_letter (tenant_id, unit_id, died_at, failure_class, error, attempt_count)
    select u.tenant_id, u.unit_id, greatest(u.last_transition_at, f.failed_at), f.failure_class, f.error, u.attempt_count
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    cross join lateral (
        select x.failure_class, x.error, x.failed_at from stepwell.unit_failure as x
        where x.tenant_id = u.tenant_id and x.unit_id = u.unit_id
        order by x.failed_at desc, x.lease_no desc limit 1
    ) as f
$$;

-- Cancels every step that depends on these, directly or not, and has not started (reason upstream_failed); other
-- branches continue. A conditional whose test is about the failed step is not cancelled: it is released, and decides. With a
-- conditional that failed or is cancelled, everything in its branches is cancelled: they never open, so nothing inside
-- them catches anything. A job that requires any of its parents is cancelled when none of them can succeed any more.
create or replace function stepwell._dependents_abort(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_next record;
begin
    select p_tenant_ids as tenant_ids, p_unit_ids as unit_ids into v_next;
    -- In rounds, not by recursion: a chain of jobs with join any may be as long as the graph.
    while v_next.unit_ids is not null loop
        v_next := stepwell._dependents_of_abort(v_next.tenant_ids, v_next.unit_ids);
    end loop;
end
$$;

-- One round of _dependents_abort: what depends on these is cancelled. Returns the jobs with join any that are cancelled with them, whose
-- dependents are not cancelled yet; null when there are none.
create or replace function stepwell._dependents_of_abort(
    p_tenant_ids int[], p_unit_ids bigint[], out tenant_ids int[], out unit_ids bigint[]
)
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_gone record;
    v_joins record;
begin
    with recursive down as (
        select u.tenant_id, u.unit_id, u.version_id, u.def_no, false as is_join
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        where u.scope = 'step'
        union
        select s.tenant_id, s.unit_id, s.version_id, s.def_no, n.is_join
        from down as d
        cross join lateral (
            select r.to_no, coalesce(f.config ->> 'join' = 'any', false) as is_join
            from stepwell.workflow_step_relations as r
            cross join lateral (
                select x.step_kind, x.config from stepwell.workflow_step_def as x
                where x.tenant_id = r.tenant_id and x.version_id = r.version_id and x.step_no = r.to_no offset 0
            ) as f
            where r.tenant_id = d.tenant_id and r.version_id = d.version_id and r.from_no = d.def_no
                and not stepwell._catches(f.step_kind, f.config, d.def_no)
            union all
            select i.step_no, false
            from stepwell.workflow_step_def as c
            inner join stepwell.workflow_branch as b
                on c.tenant_id = b.tenant_id and c.version_id = b.version_id and c.step_no = b.conditional_no
            inner join stepwell.workflow_step_def as i
                on b.tenant_id = i.tenant_id and b.version_id = i.version_id and b.branch_no = i.branch_no
                and c.scope_no = i.scope_no
            where c.tenant_id = d.tenant_id and c.version_id = d.version_id and c.step_no = d.def_no
                and c.step_kind = 'conditional'
        ) as n
        cross join lateral (
            select x.tenant_id, x.unit_id, x.version_id, x.def_no, x.state_code from stepwell.work_unit as x
            where x.tenant_id = d.tenant_id and x.unit_id = d.unit_id + n.to_no - d.def_no offset 0
        ) as s
        where not d.is_join and (s.state_code = 'not_started' or (s.state_code = 'ready' and not n.is_join))
    )
    select
        array_agg(d.tenant_id order by d.unit_id) filter (where not d.is_join) as all_tenant_ids,
        array_agg(d.unit_id order by d.unit_id) filter (where not d.is_join) as all_ids,
        array_agg(d.tenant_id order by d.unit_id) filter (where not d.is_join and not d.unit_id = any (p_unit_ids)) as tenant_ids,
        array_agg(d.unit_id order by d.unit_id) filter (where not d.is_join and not d.unit_id = any (p_unit_ids)) as unit_ids,
        array_agg(d.tenant_id order by d.unit_id) filter (where d.is_join) as join_tenant_ids,
        array_agg(d.unit_id order by d.unit_id) filter (where d.is_join) as join_ids
    into v_gone
    from down as d;
    if v_gone.unit_ids is not null then
        perform stepwell._steps_abort(v_gone.tenant_ids, v_gone.unit_ids);
    end if;
    perform stepwell._boundaries_open(v_gone.all_tenant_ids, v_gone.all_ids, v_gone.join_ids);
    -- Only graphs of jobs have such steps: other runs pay nothing for them.
    if v_gone.join_ids is not null then
        v_joins := stepwell._joins_abort(v_gone.join_tenant_ids, v_gone.join_ids);
        _dependents_of_abort.tenant_ids := v_joins.tenant_ids;
        _dependents_of_abort.unit_ids := v_joins.unit_ids;
    end if;
end
$$;

-- Cancels steps that can never start, because of what failed before them.
create or replace function stepwell._steps_abort(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._units_dequeue(p_tenant_ids, p_unit_ids);
    perform stepwell._units_move(p_tenant_ids, p_unit_ids, 'cancelled', 'mow_orchestrator',
        'condition_resolved', 'upstream_failed', 'engine', null,
        array_fill('{"reason": "upstream_failed"}'::jsonb, array[cardinality(p_unit_ids)]));
    perform stepwell._tasks_cancel(p_tenant_ids, p_unit_ids);
end
$$;

-- Counts steps that failed or were called off as finished for the conditionals that catch them, and releases those that wait for
-- nothing else. The other steps after them were called off before; jobs with join any (p_join_ids) count only what succeeds.
create or replace function stepwell._boundaries_open(p_tenant_ids int[], p_unit_ids bigint[], p_join_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_free record;
begin
    with released as (
        select s.tenant_id, s.unit_id, s.pending_count, count(*)::int as released_count
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        inner join stepwell.workflow_step_relations as r
            on u.tenant_id = r.tenant_id and u.version_id = r.version_id and u.def_no = r.from_no
        cross join lateral (
            select x.tenant_id, x.unit_id, x.pending_count, x.state_code from stepwell.work_unit as x
            where x.tenant_id = u.tenant_id and x.unit_id = u.unit_id + r.to_no - u.def_no offset 0
        ) as s
        where s.state_code = 'not_started' and (p_join_ids is null or not s.unit_id = any (p_join_ids))
        group by s.tenant_id, s.unit_id, s.pending_count
    ), counted as (
        update stepwell.work_unit as s set pending_count = s.pending_count - x.released_count
        from released as x
        where x.pending_count > x.released_count and s.tenant_id = x.tenant_id and s.unit_id = x.unit_id
    )
    select array_agg(x.tenant_id order by x.unit_id) as tenant_ids, array_agg(x.unit_id order by x.unit_id) as unit_ids,
        array_agg(x.released_count order by x.unit_id) as released_counts
    into v_free
    from released as x
    where x.pending_count = x.released_count;
    if v_free.unit_ids is not null then
        perform stepwell._units_ready(v_free.tenant_ids, v_free.unit_ids, v_free.released_counts, true, false);
    end if;
end
$$;
