-- Purpose: classifies failures: class by name or by the exception's name, transient or permanent by registry,
--   operation and step; when the next attempt may start, or null when there is none.
-- Locks: none.
-- Idempotency: reads only; the jitter comes from the unit and the attempt, so that the same failure is judged the same.
-- Raises: nothing.
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
        coalesce(q.body -> 'error', '{}'), (u.attempt_count + 1)::smallint,
        case when k.classification = 'transient' and u.attempt_count + 1 < u.max_attempts then least(
            -- Not later than the deadline: what comes after it helps nobody.
            case when u.deadline_at > p_now then u.deadline_at end, p_now + make_interval(secs =>
            coalesce((q.body ->> 'delay_seconds')::float,
                least(coalesce((d.config -> 'retry' ->> 'max_seconds')::float, o.retry_max_seconds),
                    coalesce((d.config -> 'retry' ->> 'initial_seconds')::float, o.retry_initial_seconds)
                    * power(coalesce((d.config -> 'retry' ->> 'multiplier')::float, o.retry_multiplier), u.attempt_count))
                * (hashint8extended(q.unit_id, u.attempt_count + (u.lease_no::bigint << 16)) & 1048575) / 1048576.0)))
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
    order by q.ord
$$;
