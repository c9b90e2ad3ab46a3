-- What must be true at every moment, checked on the rows. Each helper returns the faults of one subject.

-- A part of the slice that the invariants read, kept for the statement by whoever reads one: tenant and unit of its begin (1, 2) and of
-- its end (3, 4), and whether it is a slice (5). Without one it is everything. A slice has whole runs. The planner writes this function
-- into its queries and so knows how few rows a slice has; of a pair it looks at the tenant only, so the unit is said once more.
create or replace function stepwell._slice(p_part int) returns bigint
language sql stable
as $$
    select coalesce(nullif(split_part(current_setting('stepwell.slice', true), ',', p_part), '')::bigint,
        (array[0, 0, 2147483647, 9223372036854775807, 0]::bigint[])[p_part])
$$;

-- Checks what must be true at every moment: one row for each invariant, ok or with the first faults named. It reads
-- everything, so it is for tests, for `stepwell doctor` and after an incident. It reads each table a few times and no more,
-- whatever the planner believes: a nested loop would read all units once for each run that has ended.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_invariants_check()
returns table (invariant text, ok boolean, detail text)
language plpgsql stable
set search_path = stepwell, pg_temp
set enable_nestloop = off
as $$
#variable_conflict use_column
begin
    return query
    with checks (check_no, invariant) as (
        values
        (1, 'leases_are_single_and_alive'),
        (2, 'every_open_unit_is_explained'),
        (3, 'states_are_the_fold_of_events'),
        (4, 'counters_equal_a_recount'),
        (5, 'pending_counts_equal_unfinished_predecessors'),
        (6, 'nothing_is_left_of_what_has_ended'),
        (7, 'slots_equal_their_holders'),
        (8, 'effects_agree_with_their_receipts')
    ), faults as (
        select f.invariant, f.fault from stepwell._faults_of_runs() as f
        union all
        select f.invariant, f.fault from stepwell._invariant_slots() as f
    ), numbered as (
        select f.invariant, f.fault, row_number() over (partition by f.invariant order by f.fault) as place from faults as f
    )
    select
        c.invariant,
        count(f.fault) = 0,
        coalesce(string_agg(f.fault, '; ' order by f.place) filter (where f.place <= 10)
            || case when count(f.fault) > 10 then format('; and %s more', count(f.fault) - 10) else '' end, 'ok')
    from checks as c
    left join numbered as f on c.invariant = f.invariant
    group by c.check_no, c.invariant
    order by c.check_no;
end
$$;

-- The faults of everything that belongs to a run or a job, in the slice that is set, else in all.
create or replace function stepwell._faults_of_runs() returns table (invariant text, fault text, tenant_id int, unit_id bigint)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select f.* from stepwell._invariant_leases() as f
    union all
    select f.* from stepwell._invariant_explained() as f
    union all
    select f.* from stepwell._invariant_fold() as f
    union all
    select f.* from stepwell._invariant_counts() as f
    union all
    select f.* from stepwell._invariant_pending() as f
    union all
    select f.* from stepwell._invariant_leftovers() as f
    union all
    select f.* from stepwell._invariant_effects() as f;
end
$$;

-- The log against the states: a unit whose last event has another state, an event that does not begin with the state of
-- the event before it, a unit that changed without an event.
create or replace function stepwell._invariant_fold()
returns table (invariant text, fault text, tenant_id int, unit_id bigint)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    with change as (
        select
            e.tenant_id, e.unit_id, e.event_id, e.event_type, e.from_state, e.to_state,
            lag(e.to_state) over w as before_state, row_number() over w as change_no,
            lead(e.event_id) over w is null as is_last
        from stepwell.event_log as e
        where e.to_state is not null and (e.tenant_id, e.run_id) >= (stepwell._slice(1)::int, stepwell._run_of(stepwell._slice(2)))
            and (e.tenant_id, e.run_id) <= (stepwell._slice(3)::int, stepwell._run_of(stepwell._slice(4)))
            and e.run_id >= stepwell._run_of(stepwell._slice(2)) and e.run_id <= stepwell._run_of(stepwell._slice(4))
        window w as (partition by e.tenant_id, e.unit_id order by e.event_id)
    ), unit as (
        select u.tenant_id, u.unit_id, u.scope, u.state_code, u.last_transition_at, d.state_code as initial_state
        from stepwell.work_unit as u
        left join stepwell.state_def as d
            on u.state_machine_id = d.state_machine_id and d.is_initial and d.state_code = u.state_code
        where (u.tenant_id, u.unit_id) >= (stepwell._slice(1)::int, stepwell._slice(2))
            and (u.tenant_id, u.unit_id) <= (stepwell._slice(3)::int, stepwell._slice(4))
            and u.unit_id >= stepwell._slice(2) and u.unit_id <= stepwell._slice(4)
    )
    select 'states_are_the_fold_of_events', format('unit %s is %s, its last event %s (%s) says %s',
        u.unit_id, u.state_code, c.event_id, c.event_type, c.to_state), u.tenant_id, u.unit_id
    from unit as u
    inner join change as c on u.tenant_id = c.tenant_id and u.unit_id = c.unit_id and c.is_last
    where u.state_code <> c.to_state
    union all
    select 'states_are_the_fold_of_events', format('event %s (%s) of unit %s begins at %s, the one before ended at %s',
        c.event_id, c.event_type, c.unit_id, coalesce(c.from_state, 'nothing'), c.before_state), c.tenant_id, c.unit_id
    from change as c
    where c.change_no > 1 and c.from_state is distinct from c.before_state
    union all
    select 'states_are_the_fold_of_events', format('unit %s is %s and has no event', u.unit_id, u.state_code), u.tenant_id, u.unit_id
    from unit as u
    where u.initial_state is null
        and not exists (select from change as c where c.tenant_id = u.tenant_id and c.unit_id = u.unit_id)
        -- Retention drops whole months, also those in which a run that is still open has changed last.
        and to_regclass('stepwell.event_log_' || to_char(u.last_transition_at at time zone 'UTC', 'YYYY_MM')) is not null
    union all
    -- A unit that is created with an event is created once.
    select 'states_are_the_fold_of_events', format('unit %s was born %s times', c.unit_id, count(*)), c.tenant_id, c.unit_id
    from change as c
    where c.from_state is null
    group by c.tenant_id, c.unit_id
    having count(*) > 1;
end
$$;

-- The counters of runs against their steps, and the colour against the counters.
create or replace function stepwell._invariant_counts()
returns table (invariant text, fault text, tenant_id int, unit_id bigint)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    with recount as (
        select
            u.tenant_id, stepwell._run_of(u.unit_id) as run_id,
            count(*) filter (where not d.is_terminal and u.state_code <> 'cannot_complete') as open_count,
            count(*) filter (where u.mandatory) as mandatory_count,
            count(*) filter (where u.mandatory and k.class = 'idle') as idle_count,
            count(*) filter (where u.mandatory and k.class = 'active') as active_count,
            count(*) filter (where u.mandatory and k.class = 'wait') as wait_count,
            count(*) filter (where u.mandatory and k.class = 'red') as red_count,
            count(*) filter (where u.mandatory and u.state_code = 'completed') as completed_count,
            count(*) filter (where u.state_code = 'skipped') as skipped_count,
            count(*) filter (where u.mandatory and u.state_code = 'cannot_complete' and not u.failure_caught) as failed_count
        from stepwell.work_unit as u
        inner join stepwell.state_def as d on u.state_machine_id = d.state_machine_id and u.state_code = d.state_code
        cross join lateral (select case when u.blocked_escalated then 'red' else d.semantic_class end as class) as k
        where u.scope = 'step' and (u.tenant_id, u.unit_id) >= (stepwell._slice(1)::int, stepwell._slice(2))
            and (u.tenant_id, u.unit_id) <= (stepwell._slice(3)::int, stepwell._slice(4))
            and u.unit_id >= stepwell._slice(2) and u.unit_id <= stepwell._slice(4)
        group by u.tenant_id, stepwell._run_of(u.unit_id)
    )
    select 'counters_equal_a_recount', format('run %s, %s: counted %s, recounted %s', p.run_id, c.name, c.kept, c.found), p.tenant_id, stepwell._run_unit(p.run_id)
    from stepwell.run_progress as p
    left join recount as r on p.tenant_id = r.tenant_id and p.run_id = r.run_id
    cross join lateral (values
        ('open_count', p.open_count, r.open_count), ('mandatory_count', p.mandatory_count, r.mandatory_count),
        ('idle_count', p.idle_count, r.idle_count), ('active_count', p.active_count, r.active_count),
        ('wait_count', p.wait_count, r.wait_count), ('red_count', p.red_count, r.red_count),
        ('completed_count', p.completed_count, r.completed_count), ('skipped_count', p.skipped_count, r.skipped_count),
        ('failed_count', p.failed_count, r.failed_count)
    ) as c (name, kept, found)
    where c.kept <> coalesce(c.found, 0) and (p.tenant_id, p.run_id) >= (stepwell._slice(1)::int, stepwell._run_of(stepwell._slice(2)))
            and (p.tenant_id, p.run_id) <= (stepwell._slice(3)::int, stepwell._run_of(stepwell._slice(4)))
            and p.run_id >= stepwell._run_of(stepwell._slice(2)) and p.run_id <= stepwell._run_of(stepwell._slice(4))
    union all
    select 'counters_equal_a_recount', format('run %s is %s, its counters say %s', p.run_id, p.rollup_state_code,
        stepwell._rollup_colour(p.red_count, p.wait_count, p.active_count)), p.tenant_id, stepwell._run_unit(p.run_id)
    from stepwell.run_progress as p
    where (p.tenant_id, p.run_id) >= (stepwell._slice(1)::int, stepwell._run_of(stepwell._slice(2)))
            and (p.tenant_id, p.run_id) <= (stepwell._slice(3)::int, stepwell._run_of(stepwell._slice(4)))
            and p.run_id >= stepwell._run_of(stepwell._slice(2)) and p.run_id <= stepwell._run_of(stepwell._slice(4))
        and p.frozen_at is null
        and p.rollup_state_code <> stepwell._rollup_colour(p.red_count, p.wait_count, p.active_count)
    union all
    select 'counters_equal_a_recount', format('step %s is %s, its run %s is %s', s.unit_id, s.state_code, p.run_id, p.rollup_state_code), s.tenant_id, s.unit_id
    from stepwell.run_progress as p
    inner join stepwell.work_unit as w on p.tenant_id = w.tenant_id and stepwell._run_unit(p.run_id) = w.unit_id
    inner join stepwell.work_unit as s on w.tenant_id = s.tenant_id and w.parent_id = s.unit_id
    where (p.tenant_id, p.run_id) >= (stepwell._slice(1)::int, stepwell._run_of(stepwell._slice(2)))
            and (p.tenant_id, p.run_id) <= (stepwell._slice(3)::int, stepwell._run_of(stepwell._slice(4)))
            and p.run_id >= stepwell._run_of(stepwell._slice(2)) and p.run_id <= stepwell._run_of(stepwell._slice(4))
        and p.parent_run_id is not null and w.state_code in ('in_progress', 'paused')
        and s.state_code in ('in_progress', 'failed', 'blocked') and s.state_code <> stepwell._subrun_state(p.rollup_state_code);
end
$$;

-- Pending counts against the predecessors that have not ended.
create or replace function stepwell._invariant_pending()
returns table (invariant text, fault text, tenant_id int, unit_id bigint)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select 'pending_counts_equal_unfinished_predecessors', format('step %s waits for %s, %s have not ended',
        u.unit_id, u.pending_count, b.unfinished_count), u.tenant_id, u.unit_id
    from stepwell.work_unit as u
    inner join stepwell.workflow_step_def as d on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    cross join lateral (
        select case when d.config ?| array['join', 'delay_seconds'] then stepwell._joins_pending(u, d.config) else count(*) end as unfinished_count
        from stepwell.workflow_step_relations as r
        cross join lateral (
            select x.state_code from stepwell.work_unit as x
            where x.tenant_id = u.tenant_id and x.unit_id = u.unit_id + r.from_no - u.def_no offset 0
        ) as b
        where r.tenant_id = u.tenant_id and r.version_id = u.version_id and r.to_no = u.def_no
            -- A step that failed releases only a conditional that catches it; all others are cancelled.
            and not stepwell._has_ended(b.state_code)
    ) as b
    where u.scope = 'step' and u.state_code = 'not_started' and u.pending_count <> b.unfinished_count
        and (u.tenant_id, u.unit_id) >= (stepwell._slice(1)::int, stepwell._slice(2))
            and (u.tenant_id, u.unit_id) <= (stepwell._slice(3)::int, stepwell._slice(4))
            and u.unit_id >= stepwell._slice(2) and u.unit_id <= stepwell._slice(4);
end
$$;

-- Leases: of an ended session, missing, in the wrong state, unknown to recovery, or of a unit that is in the queue too;
-- and state changes that a session wrote after its end.
create or replace function stepwell._invariant_leases()
returns table (invariant text, fault text, tenant_id int, unit_id bigint)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    with leased as (
        select u.tenant_id, u.unit_id, u.state_code, u.lease_session_id, s.closed_at, s.session_id
        from stepwell.work_unit as u
        left join stepwell.worker_session as s on u.lease_session_id = s.session_id
        where u.lease_session_id is not null and (u.tenant_id, u.unit_id) >= (stepwell._slice(1)::int, stepwell._slice(2))
            and (u.tenant_id, u.unit_id) <= (stepwell._slice(3)::int, stepwell._slice(4))
            and u.unit_id >= stepwell._slice(2) and u.unit_id <= stepwell._slice(4)
    ), known as (
        select distinct l.session_id, q.tenant_id, q.unit_id
        from stepwell.worker_lease as l
        cross join lateral unnest(l.tenant_ids, l.unit_ids) as q (tenant_id, unit_id)
    )
    select 'leases_are_single_and_alive', format('unit %s is %s and leased', l.unit_id, l.state_code), l.tenant_id, l.unit_id
    from leased as l
    where l.state_code not in ('in_progress', 'overdue')
    union all
    select 'leases_are_single_and_alive', format('unit %s is leased to session %s, which has ended', l.unit_id, l.lease_session_id), l.tenant_id, l.unit_id
    from leased as l
    where l.session_id is null or l.closed_at is not null
    union all
    select 'leases_are_single_and_alive', format('unit %s is leased to session %s, whose claims do not name it',
        l.unit_id, l.lease_session_id), l.tenant_id, l.unit_id
    from leased as l
    where not exists (select from known as k
        where k.session_id = l.lease_session_id and k.tenant_id = l.tenant_id and k.unit_id = l.unit_id)
    union all
    select 'leases_are_single_and_alive', format('unit %s is %s by a worker without a lease', u.unit_id, u.state_code), u.tenant_id, u.unit_id
    from stepwell.work_unit as u
    where (u.tenant_id, u.unit_id) >= (stepwell._slice(1)::int, stepwell._slice(2))
            and (u.tenant_id, u.unit_id) <= (stepwell._slice(3)::int, stepwell._slice(4))
            and u.unit_id >= stepwell._slice(2) and u.unit_id <= stepwell._slice(4)
        and u.state_code in ('in_progress', 'overdue') and u.operation_id is not null and u.lease_session_id is null
        and u.pic_id is null
    union all
    select 'leases_are_single_and_alive', format('unit %s is %s and claimable', r.unit_id, coalesce(u.state_code, 'gone')), r.tenant_id, r.unit_id
    from stepwell.job_ready as r
    left join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.unit_id = u.unit_id
    where stepwell._slice(5) = 0 and (u.state_code is null or u.state_code <> case when r.is_retry then 'failed' else 'ready' end)
    union all
    -- In a slice each unit is looked up in the queue: the queue is not in the order of units.
    select 'leases_are_single_and_alive', format('unit %s is %s and claimable', u.unit_id, u.state_code), u.tenant_id, u.unit_id
    from stepwell.work_unit as u
    inner join stepwell.job_ready as r on u.executor_class_id = r.executor_class_id and u.tenant_id = r.tenant_id
        and r.workspace_id = stepwell._workspace_of(u.tenant_id, u.unit_id) and r.rank = -u.priority and u.operation_id = r.operation_id
        and u.unit_id = r.unit_id
    where stepwell._slice(5) = 1 and (u.tenant_id, u.unit_id) >= (stepwell._slice(1)::int, stepwell._slice(2))
            and (u.tenant_id, u.unit_id) <= (stepwell._slice(3)::int, stepwell._slice(4))
            and u.unit_id >= stepwell._slice(2) and u.unit_id <= stepwell._slice(4)
        and u.executor_class_id is not null and u.state_code <> case when r.is_retry then 'failed' else 'ready' end
    union all
    select 'leases_are_single_and_alive', format('session %s ended, and event %s (%s) came after', s.session_id, e.event_id, e.event_type), e.tenant_id, e.unit_id
    from stepwell.event_log as e
    inner join stepwell.worker_session as s on e.actor = 'session:' || s.session_id
    where (e.tenant_id, e.run_id) >= (stepwell._slice(1)::int, stepwell._run_of(stepwell._slice(2)))
            and (e.tenant_id, e.run_id) <= (stepwell._slice(3)::int, stepwell._run_of(stepwell._slice(4)))
            and e.run_id >= stepwell._run_of(stepwell._slice(2)) and e.run_id <= stepwell._run_of(stepwell._slice(4))
        and e.at > s.closed_at and e.to_state is not null and e.event_type not like '%.released'
        -- A worker may settle a receipt after its session ended: an effect that happened has happened.
        and e.event_type not in ('receipt.confirmed', 'receipt.unconfirmed', 'receipt.voided', 'receipt.reversed');
end
$$;
