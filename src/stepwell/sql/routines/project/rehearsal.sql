-- What the test harness asks a database that holds nothing but a test: what runs, what waits for people, what does not run.
-- The clock of such a database is in base/clock.sql.

-- What can be claimed, what is leased, when time brings something next: a timer, a rate limit or a schedule; when an open
-- approval expires. One statement, so one snapshot: a unit that moves between two tables is counted once. Units of
-- operations outside p_operations count as neither ready nor leased, because nobody works on them.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_rehearsal_flight(p_executors text[], p_operations text[])
returns table (
    ready_count bigint, leased_count bigint, next_due_at timestamptz, next_expiry_at timestamptz, now_at timestamptz
)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select
        (
            select count(*) from stepwell.job_ready as r
            inner join stepwell.executor_class as c
                on r.executor_class_id = c.executor_class_id and c.class_name = any (p_executors)
            inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.unit_id = u.unit_id
            inner join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
            where o.operation_name = any (p_operations)
        ),
        (
            select count(*) from stepwell.work_unit as u
            inner join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
            where o.operation_name = any (p_operations) and u.lease_session_id is not null
                and u.state_code in ('in_progress', 'overdue')
        ),
        least(
            (select min(t.due_at) from stepwell.timer as t),
            (select min(k.back_at) from stepwell.rate_token as k),
            -- A schedule that never fires again has a time far in the future.
            (
                select min(coalesce(s.next_at, stepwell.now())) from stepwell.workflow_schedule as s
                where not s.is_paused and (s.next_at is null or s.next_at < '9999-01-01'::timestamptz)
            )
        ),
        (select min(t.due_at) from stepwell.timer as t where t.timer_kind = 'approval_expiry'),
        stepwell.now()
$$;

-- Open human steps, tasks and approvals: of a run and the runs inside it, or of all runs when p_run_id is null. A step
-- that waits for an event or a time asks nobody. At most 100 rows.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_rehearsal_asked(p_tenant_id int, p_run_id bigint)
returns table (run_id bigint, name text, state_code text, why text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with recursive tree as (
        select p_run_id as run_id
        union all
        select stepwell._run_of(c.unit_id) from tree as t
        inner join stepwell.work_unit as p
            on p.tenant_id = p_tenant_id and p.unit_id between stepwell._run_unit(t.run_id) + 1 and stepwell._run_last(t.run_id)
        inner join stepwell.work_unit as c
            on p.tenant_id = c.tenant_id and p.unit_id = c.parent_id and c.scope = 'workflow_run'
    )
    select
        h.run_id,
        concat_ws('/', h.parent_step_id, h.step_id || coalesce('[' || h.item_no || ']', '')),
        h.state_code,
        (select w.sentence_en from stepwell.fn_why_not_running(h.step_run_id, h.tenant_id) as w)
    from stepwell.v_inbox as h
    where h.tenant_id = p_tenant_id and h.state_code <> 'waiting'
        and (p_run_id is null or h.run_id in (select t.run_id from tree as t))
    union all
    select
        a.run_id,
        'approval ' || stepwell._unit_ref(a.approval_id),
        a.state_code,
        format('%s of %s waits for a decision (%s of %s)%s', a.action, stepwell._unit_name(s), a.approve_count, a.quorum,
            coalesce(', until ' || to_char(a.expires_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'), ''))
    from stepwell.v_approval as a
    inner join stepwell.work_unit as s on a.tenant_id = s.tenant_id and a.subject_unit_id = s.unit_id
    where a.tenant_id = p_tenant_id and a.state_code = 'requested'
        and (p_run_id is null or a.run_id in (select t.run_id from tree as t))
    order by 1, 2
    limit 100
$$;

-- Units that are leased or can be claimed, each with the reason why it does not go on. At most 20 rows.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_rehearsal_standing(p_tenant_id int)
returns table (run_id bigint, name text, state_code text, why text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select
        case when u.scope <> 'job' then stepwell._run_of(u.unit_id) end,
        stepwell._unit_name(u),
        u.state_code,
        (select w.sentence_en from stepwell.fn_why_not_running(u.unit_id, u.tenant_id) as w)
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.executor_class_id is not null
        and u.state_code in ('ready', 'in_progress', 'overdue')
    order by u.unit_id
    limit 20
$$;
