-- What must be true at every moment, checked on the rows. Each helper returns the faults of one subject.

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
        select f.invariant, f.fault from stepwell._invariant_leases() as f
        union all
        select f.invariant, f.fault from stepwell._invariant_explained() as f
        union all
        select f.invariant, f.fault from stepwell._invariant_fold() as f
        union all
        select f.invariant, f.fault from stepwell._invariant_counts() as f
        union all
        select f.invariant, f.fault from stepwell._invariant_leftovers() as f
        union all
        select f.invariant, f.fault from stepwell._invariant_slots() as f
        union all
        select f.invariant, f.fault from stepwell._invariant_effects() as f
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

-- The log against the states: a unit whose last event has another state, an event that does not begin with the state of
-- the event before it, a unit that changed without an event.
create or replace function stepwell._invariant_fold()
returns table (invariant text, fault text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with change as (
        select
            e.tenant_id, e.unit_id, e.event_id, e.event_type, e.from_state, e.to_state,
            lag(e.to_state) over w as before_state, row_number() over w as change_no,
            lead(e.event_id) over w is null as is_last
        from stepwell.event_log as e
        where e.to_state is not null
        window w as (partition by e.tenant_id, e.unit_id order by e.event_id)
    ), unit as (
        select u.tenant_id, u.unit_id, u.scope, u.state_code, u.last_transition_at, d.state_code as initial_state
        from stepwell.work_unit as u
        left join stepwell.state_def as d
            on u.state_machine_id = d.state_machine_id and d.is_initial and d.state_code = u.state_code
    )
    select 'states_are_the_fold_of_events', format('unit %s is %s, its last event %s (%s) says %s',
        u.unit_id, u.state_code, c.event_id, c.event_type, c.to_state)
    from unit as u
    inner join change as c on u.tenant_id = c.tenant_id and u.unit_id = c.unit_id and c.is_last
    where u.state_code <> c.to_state
    union all
    select 'states_are_the_fold_of_events', format('event %s (%s) of unit %s begins at %s, the one before ended at %s',
        c.event_id, c.event_type, c.unit_id, coalesce(c.from_state, 'nothing'), c.before_state)
    from change as c
    where c.change_no > 1 and c.from_state is distinct from c.before_state
    union all
    select 'states_are_the_fold_of_events', format('unit %s is %s and has no event', u.unit_id, u.state_code)
    from unit as u
    where u.initial_state is null
        and not exists (select from change as c where c.tenant_id = u.tenant_id and c.unit_id = u.unit_id)
        -- Retention drops whole months, also those in which a run that is still open has changed last.
        and to_regclass('stepwell.event_log_' || to_char(u.last_transition_at at time zone 'UTC', 'YYYY_MM')) is not null
    union all
    -- A unit that is created with an event is created once.
    select 'states_are_the_fold_of_events', format('unit %s was born %s times', c.unit_id, count(*))
    from change as c
    where c.from_state is null
    group by c.tenant_id, c.unit_id
    having count(*) > 1
$$;

-- The counters of runs against their steps, the colour against the counters, and pending counts against the
-- predecessors that have not ended.
create or replace function stepwell._invariant_counts()
returns table (invariant text, fault text)
language sql stable
set search_path = stepwell, pg_temp
as $$
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
        where u.scope = 'step'
        group by u.tenant_id, stepwell._run_of(u.unit_id)
    )
    select 'counters_equal_a_recount', format('run %s, %s: counted %s, recounted %s', p.run_id, c.name, c.kept, c.found)
    from stepwell.run_progress as p
    left join recount as r on p.tenant_id = r.tenant_id and p.run_id = r.run_id
    cross join lateral (values
        ('open_count', p.open_count, r.open_count), ('mandatory_count', p.mandatory_count, r.mandatory_count),
        ('idle_count', p.idle_count, r.idle_count), ('active_count', p.active_count, r.active_count),
        ('wait_count', p.wait_count, r.wait_count), ('red_count', p.red_count, r.red_count),
        ('completed_count', p.completed_count, r.completed_count), ('skipped_count', p.skipped_count, r.skipped_count),
        ('failed_count', p.failed_count, r.failed_count)
    ) as c (name, kept, found)
    where c.kept <> coalesce(c.found, 0)
    union all
    select 'counters_equal_a_recount', format('run %s is %s, its counters say %s', p.run_id, p.rollup_state_code,
        stepwell._rollup_colour(p.red_count, p.wait_count, p.active_count))
    from stepwell.run_progress as p
    where p.frozen_at is null
        and p.rollup_state_code <> stepwell._rollup_colour(p.red_count, p.wait_count, p.active_count)
    union all
    select 'counters_equal_a_recount', format('step %s is %s, its run %s is %s', s.unit_id, s.state_code, p.run_id, p.rollup_state_code)
    from stepwell.run_progress as p
    inner join stepwell.work_unit as w on p.tenant_id = w.tenant_id and stepwell._run_unit(p.run_id) = w.unit_id
    inner join stepwell.work_unit as s on w.tenant_id = s.tenant_id and w.parent_id = s.unit_id
    where p.parent_run_id is not null and w.state_code in ('in_progress', 'paused')
        and s.state_code in ('in_progress', 'failed', 'blocked') and s.state_code <> stepwell._subrun_state(p.rollup_state_code)
    union all
    select 'pending_counts_equal_unfinished_predecessors', format('step %s waits for %s, %s have not ended',
        u.unit_id, u.pending_count, b.unfinished_count)
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
$$;

-- Leases: of an ended session, missing, in the wrong state, unknown to recovery, or of a unit that is in the queue too;
-- and state changes that a session wrote after its end.
create or replace function stepwell._invariant_leases()
returns table (invariant text, fault text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with leased as (
        select u.tenant_id, u.unit_id, u.state_code, u.lease_session_id, s.closed_at, s.session_id
        from stepwell.work_unit as u
        left join stepwell.worker_session as s on u.lease_session_id = s.session_id
        where u.lease_session_id is not null
    ), known as (
        select distinct l.session_id, q.tenant_id, q.unit_id
        from stepwell.worker_lease as l
        cross join lateral unnest(l.tenant_ids, l.unit_ids) as q (tenant_id, unit_id)
    )
    select 'leases_are_single_and_alive', format('unit %s is %s and leased', l.unit_id, l.state_code)
    from leased as l
    where l.state_code not in ('in_progress', 'overdue')
    union all
    select 'leases_are_single_and_alive', format('unit %s is leased to session %s, which has ended', l.unit_id, l.lease_session_id)
    from leased as l
    where l.session_id is null or l.closed_at is not null
    union all
    select 'leases_are_single_and_alive', format('unit %s is leased to session %s, whose claims do not name it',
        l.unit_id, l.lease_session_id)
    from leased as l
    where not exists (select from known as k
        where k.session_id = l.lease_session_id and k.tenant_id = l.tenant_id and k.unit_id = l.unit_id)
    union all
    select 'leases_are_single_and_alive', format('unit %s is %s by a worker without a lease', u.unit_id, u.state_code)
    from stepwell.work_unit as u
    where u.state_code in ('in_progress', 'overdue') and u.operation_id is not null and u.lease_session_id is null
        and u.pic_id is null
    union all
    select 'leases_are_single_and_alive', format('unit %s is %s and claimable', r.unit_id, coalesce(u.state_code, 'gone'))
    from stepwell.job_ready as r
    left join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.unit_id = u.unit_id
    where u.state_code is null or u.state_code <> case when r.is_retry then 'failed' else 'ready' end
    union all
    select 'leases_are_single_and_alive', format('session %s ended, and event %s (%s) came after', s.session_id, e.event_id, e.event_type)
    from stepwell.event_log as e
    inner join stepwell.worker_session as s on e.actor = 'session:' || s.session_id
    where e.at > s.closed_at and e.to_state is not null and e.event_type not like '%.released'
        -- A worker may settle a receipt after its session ended: an effect that happened has happened.
        and e.event_type not in ('receipt.confirmed', 'receipt.unconfirmed', 'receipt.voided', 'receipt.reversed')
$$;

-- Concurrency limits: slots in use without a unit, units without their slot, units in line while slots are free.
create or replace function stepwell._invariant_slots()
returns table (invariant text, fault text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with slot as (
        select s.tenant_id, s.slot_key, s.max_count, s.used_count, s.rate_count, s.rate_used_count, (
            select count(*) from stepwell.work_unit as u
            where u.tenant_id = s.tenant_id and u.slot_key = s.slot_key and (u.lease_session_id is not null or exists (
                select from stepwell.job_ready as r where r.executor_class_id = u.executor_class_id and r.tenant_id = u.tenant_id
                    and r.workspace_id = stepwell._workspace_of(u.tenant_id, u.unit_id) and r.rank = -u.priority
                    and r.operation_id = u.operation_id and r.unit_id = u.unit_id)
                or exists (select from stepwell.job_held as j
                    where j.tenant_id = u.tenant_id and j.unit_id = u.unit_id and j.has_slot))
        ) as held_count, (
            select count(*) from stepwell.job_line as l where l.tenant_id = s.tenant_id and l.slot_key = s.slot_key
        ) as line_count
        from stepwell.concurrency_slot as s
    )
    select 'slots_equal_their_holders', format('%s: %s slots in use, %s held', s.slot_key, s.used_count, s.held_count)
    from slot as s
    where s.used_count <> s.held_count
    union all
    select 'slots_equal_their_holders', format('%s: %s in line before %s free slots', s.slot_key, s.line_count,
        s.max_count - s.used_count)
    from slot as s
    where s.line_count > 0 and s.used_count < s.max_count and s.rate_used_count < coalesce(s.rate_count, 1)
$$;

-- What has ended: something of it is still in the queue, in line, timed, waiting, leased or open.
create or replace function stepwell._invariant_leftovers()
returns table (invariant text, fault text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with ended as (
        select u.tenant_id, u.unit_id, stepwell._run_of(u.unit_id) as run_id, u.scope, u.state_code
        from stepwell.work_unit as u
        where (u.scope = 'workflow_run' and stepwell._run_has_ended(u.state_code))
            or (u.scope in ('step', 'task', 'job')
                and stepwell._has_ended(u.state_code))
    ), left_over as (
        select r.tenant_id, r.unit_id, 'queued' as how from stepwell.job_ready as r
        union all
        -- What ended while it was held leaves its place with the next pass of the keeper, as long as a hold has not ended.
        select j.tenant_id, j.unit_id, 'held' from stepwell.job_held as j
        inner join stepwell.tenant as t on j.tenant_id = t.tenant_id and not t.has_hold
        union all
        select l.tenant_id, l.unit_id, 'in line' from stepwell.job_line as l
        union all
        select t.tenant_id, t.unit_id, 'timed (' || t.timer_kind || ')' from stepwell.timer as t
        union all
        select w.tenant_id, w.unit_id, 'waiting' from stepwell.event_wait as w
    )
    select 'nothing_is_left_of_what_has_ended', format('unit %s is %s, but %s', l.unit_id, e.state_code, l.how)
    from left_over as l
    inner join ended as e on l.tenant_id = e.tenant_id and l.unit_id = e.unit_id
    union all
    select 'nothing_is_left_of_what_has_ended', format('unit %s is %s, its run is %s', l.unit_id, l.how, e.state_code)
    from left_over as l
    inner join ended as e on l.tenant_id = e.tenant_id and stepwell._run_unit(stepwell._run_of(l.unit_id)) = e.unit_id
    where e.scope = 'workflow_run'
    union all
    select 'nothing_is_left_of_what_has_ended', format('step %s is %s, its run is %s', u.unit_id, u.state_code, e.state_code)
    from ended as e
    inner join stepwell.work_unit as u on e.tenant_id = u.tenant_id and stepwell._run_unit(stepwell._run_of(u.unit_id)) = e.unit_id
    where e.scope = 'workflow_run' and u.scope in ('step', 'task')
        and not stepwell._has_ended(u.state_code)
    union all
    select 'nothing_is_left_of_what_has_ended', format('run %s is %s, its end is not on record', r.run_id, e.state_code)
    from ended as e
    inner join stepwell.run_detail as r on e.tenant_id = r.tenant_id and e.run_id = r.run_id
    where e.scope = 'workflow_run' and (r.finished_at is null or r.finished_state is distinct from e.state_code)
$$;

-- Effects: a receipt without its unit or a unit without its receipt, a receipt that is intended although no attempt is
-- making its effect, a reversal that is not linked both ways, a count of writes that differs from the receipts.
create or replace function stepwell._invariant_effects()
returns table (invariant text, fault text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select 'effects_agree_with_their_receipts', format('receipt %s has no %s', coalesce(r.receipt_id, u.unit_id),
        case when r.receipt_id is null then 'particulars' else 'unit' end)
    from stepwell.action_receipt as r
    full join (select w.tenant_id, w.unit_id from stepwell.work_unit as w where w.scope = 'receipt') as u
        on r.tenant_id = u.tenant_id and r.receipt_id = u.unit_id
    where r.receipt_id is null or u.unit_id is null
    union all
    select 'effects_agree_with_their_receipts', format('receipt %s is intended, and the attempt of unit %s that made it has ended',
        r.receipt_id, r.unit_id)
    from stepwell.action_receipt as r
    inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.receipt_id = u.unit_id
    where u.state_code = 'intended' and not exists (select from stepwell.work_unit as s
        where s.tenant_id = r.tenant_id and s.unit_id = r.unit_id and s.lease_no = r.lease_no and s.lease_session_id is not null)
    union all
    select 'effects_agree_with_their_receipts', format('receipt %s is %s, %s', r.receipt_id, u.state_code,
        case when r.reversed_by_receipt_id is null then 'and nothing reversed it'
            else 'but receipt ' || r.reversed_by_receipt_id || ' reversed it' end)
    from stepwell.action_receipt as r
    inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.receipt_id = u.unit_id
    where (u.state_code = 'reversed') <> (r.reversed_by_receipt_id is not null)
    union all
    select 'effects_agree_with_their_receipts', format('run or job %s counts %s writes, its receipts %s', stepwell._run_of(c.unit_id),
        c.write_count, x.receipt_count)
    from stepwell.run_write_count as c
    cross join lateral (
        select count(*) as receipt_count
        from stepwell.action_receipt as r
        inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.receipt_id = u.unit_id
        where r.tenant_id = c.tenant_id and r.writes and u.state_code <> 'void' and exists (
            select from stepwell._runs_above(r.tenant_id, r.run_id) as a where a.run_id = stepwell._run_of(c.unit_id))
    ) as x
    where c.write_count <> x.receipt_count
$$;

-- Open units that nothing will ever change. A cheap query finds the few that are in none of the usual places;
-- fn_why_not_running decides about these.
create or replace function stepwell._invariant_explained()
returns table (invariant text, fault text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with suspect as (
        select u.tenant_id, u.unit_id
        from stepwell.work_unit as u
        where u.scope in ('step', 'task', 'job') and (
            (u.state_code in ('ready', 'failed') and not exists (
                select from stepwell.job_ready as r where r.executor_class_id = u.executor_class_id and r.tenant_id = u.tenant_id
                    and r.workspace_id = stepwell._workspace_of(u.tenant_id, u.unit_id) and r.rank = -u.priority
                    and r.operation_id = u.operation_id and r.unit_id = u.unit_id)
                and not exists (select from stepwell.job_held as j where j.tenant_id = u.tenant_id and j.unit_id = u.unit_id))
            or (u.state_code = 'waiting' and not exists (
                select from stepwell.event_wait as w where w.tenant_id = u.tenant_id and w.unit_id = u.unit_id))
            or (u.state_code = 'not_started' and (u.pending_count = 0 or exists (
                select from stepwell.workflow_step_relations as r
                cross join lateral (
                    select x.state_code from stepwell.work_unit as x
                    where x.tenant_id = u.tenant_id and x.unit_id = u.unit_id + r.from_no - u.def_no offset 0
                ) as b
                where r.tenant_id = u.tenant_id and r.version_id = u.version_id and r.to_no = u.def_no
                    and b.state_code in ('cancelled', 'cannot_complete')))))
    )
    select 'every_open_unit_is_explained', w.sentence_en
    from suspect as s
    cross join lateral stepwell.fn_why_not_running(s.unit_id, s.tenant_id) as w
    where w.code = 'unexplained'
    union all
    select 'every_open_unit_is_explained', format('step %s can never start: a step before it %s', u.unit_id, b.state_code)
    from suspect as s
    inner join stepwell.work_unit as u on s.tenant_id = u.tenant_id and s.unit_id = u.unit_id
    inner join stepwell.workflow_step_def as d
        on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    inner join stepwell.workflow_step_relations as r
        on u.tenant_id = r.tenant_id and u.version_id = r.version_id and u.def_no = r.to_no
    inner join stepwell.work_unit as b on b.tenant_id = u.tenant_id and b.unit_id = u.unit_id + r.from_no - u.def_no
    -- A conditional may catch the failure of a step before it.
    where u.state_code = 'not_started' and d.step_kind <> 'conditional' and d.config ->> 'join' is distinct from 'any'
        and b.state_code in ('cancelled', 'cannot_complete')
    union all
    select 'every_open_unit_is_explained', format('job %s can never start: none of its parents can succeed', u.unit_id)
    from stepwell.work_unit as u
    inner join stepwell.workflow_step_def as d
        on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    where u.state_code = 'not_started' and u.scope = 'step' and d.config ->> 'join' = 'any'
        and stepwell._joins_parents(u.tenant_id, u.version_id, u.def_no, u.unit_id, '{cancelled,cannot_complete}')
            = stepwell._joins_parents(u.tenant_id, u.version_id, u.def_no, u.unit_id, null)
    union all
    select 'every_open_unit_is_explained', format('run %s is in progress, and every step of it has ended', p.run_id)
    from stepwell.run_progress as p
    inner join stepwell.work_unit as u on p.tenant_id = u.tenant_id and stepwell._run_unit(p.run_id) = u.unit_id
    where u.state_code = 'in_progress' and p.open_count = 0
$$;
