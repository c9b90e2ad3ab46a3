-- More of what must be true at every moment: limits, what has ended, effects, and that each open unit can go on.

-- Concurrency limits: slots in use without a unit, units without their slot, units in line while slots are free.
create or replace function stepwell._invariant_slots()
returns table (invariant text, fault text, tenant_id int, unit_id bigint)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    return query
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
    select 'slots_equal_their_holders', format('%s: %s slots in use, %s held', s.slot_key, s.used_count, s.held_count), s.tenant_id, null::bigint
    from slot as s
    where s.used_count <> s.held_count
    union all
    select 'slots_equal_their_holders', format('%s: %s in line before %s free slots', s.slot_key, s.line_count,
        s.max_count - s.used_count), s.tenant_id, null::bigint
    from slot as s
    where s.line_count > 0 and s.used_count < s.max_count and s.rate_used_count < coalesce(s.rate_count, 1);
end
$$;

-- What has ended: something of it is still in the queue, in line, timed, waiting, leased or open.
create or replace function stepwell._invariant_leftovers()
returns table (invariant text, fault text, tenant_id int, unit_id bigint)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    with ended as (
        select u.tenant_id, u.unit_id, stepwell._run_of(u.unit_id) as run_id, u.scope, u.state_code
        from stepwell.work_unit as u
        where ((u.scope = 'workflow_run' and stepwell._run_has_ended(u.state_code))
            or (u.scope in ('step', 'task', 'job')
                and stepwell._has_ended(u.state_code)))
            and (u.tenant_id, u.unit_id) >= (stepwell._slice(1)::int, stepwell._slice(2))
            and (u.tenant_id, u.unit_id) <= (stepwell._slice(3)::int, stepwell._slice(4))
            and u.unit_id >= stepwell._slice(2) and u.unit_id <= stepwell._slice(4)
    ), left_over as (
        select r.tenant_id, r.unit_id, 'queued' as how from stepwell.job_ready as r where stepwell._slice(5) = 0
        union all
        -- What ended while it was held leaves its place with the next pass of the keeper, as long as a hold has not ended.
        select j.tenant_id, j.unit_id, 'held' from stepwell.job_held as j
        inner join stepwell.tenant as t on j.tenant_id = t.tenant_id and not t.has_hold
        where (j.tenant_id, j.unit_id) >= (stepwell._slice(1)::int, stepwell._slice(2))
            and (j.tenant_id, j.unit_id) <= (stepwell._slice(3)::int, stepwell._slice(4))
            and j.unit_id >= stepwell._slice(2) and j.unit_id <= stepwell._slice(4)
        union all
        select l.tenant_id, l.unit_id, 'in line' from stepwell.job_line as l where stepwell._slice(5) = 0
        union all
        select t.tenant_id, t.unit_id, 'timed (' || t.timer_kind || ')' from stepwell.timer as t
        where (t.tenant_id, t.unit_id) >= (stepwell._slice(1)::int, stepwell._slice(2))
            and (t.tenant_id, t.unit_id) <= (stepwell._slice(3)::int, stepwell._slice(4))
            and t.unit_id >= stepwell._slice(2) and t.unit_id <= stepwell._slice(4)
        union all
        select w.tenant_id, w.unit_id, 'waiting' from stepwell.event_wait as w
        where (w.tenant_id, w.unit_id) >= (stepwell._slice(1)::int, stepwell._slice(2))
            and (w.tenant_id, w.unit_id) <= (stepwell._slice(3)::int, stepwell._slice(4))
            and w.unit_id >= stepwell._slice(2) and w.unit_id <= stepwell._slice(4)
    )
    select 'nothing_is_left_of_what_has_ended', format('unit %s is %s, but %s', l.unit_id, e.state_code, l.how), l.tenant_id, l.unit_id
    from left_over as l
    inner join ended as e on l.tenant_id = e.tenant_id and l.unit_id = e.unit_id
    union all
    select 'nothing_is_left_of_what_has_ended', format('unit %s is %s, its run is %s', l.unit_id, l.how, e.state_code), l.tenant_id, l.unit_id
    from left_over as l
    inner join ended as e on l.tenant_id = e.tenant_id and stepwell._run_unit(stepwell._run_of(l.unit_id)) = e.unit_id
    where e.scope = 'workflow_run'
    union all
    select 'nothing_is_left_of_what_has_ended', format('step %s is %s, its run is %s', u.unit_id, u.state_code, e.state_code), u.tenant_id, u.unit_id
    from ended as e
    inner join stepwell.work_unit as u on e.tenant_id = u.tenant_id and stepwell._run_unit(stepwell._run_of(u.unit_id)) = e.unit_id
    where (u.tenant_id, u.unit_id) >= (stepwell._slice(1)::int, stepwell._slice(2))
            and (u.tenant_id, u.unit_id) <= (stepwell._slice(3)::int, stepwell._slice(4))
            and u.unit_id >= stepwell._slice(2) and u.unit_id <= stepwell._slice(4)
        and e.scope = 'workflow_run' and u.scope in ('step', 'task')
        and not stepwell._has_ended(u.state_code)
    union all
    select 'nothing_is_left_of_what_has_ended', format('run %s is %s, its end is not on record', r.run_id, e.state_code), r.tenant_id, stepwell._run_unit(r.run_id)
    from ended as e
    inner join stepwell.run_detail as r on e.tenant_id = r.tenant_id and e.run_id = r.run_id
    where e.scope = 'workflow_run' and (r.finished_at is null or r.finished_state is distinct from e.state_code);
end
$$;

-- Effects: a receipt without its unit or a unit without its receipt, a receipt that is intended although no attempt is
-- making its effect, a reversal that is not linked both ways, a count of writes that differs from the receipts.
create or replace function stepwell._invariant_effects()
returns table (invariant text, fault text, tenant_id int, unit_id bigint)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select 'effects_agree_with_their_receipts', format('receipt %s has no %s', coalesce(r.receipt_id, u.unit_id),
        case when r.receipt_id is null then 'particulars' else 'unit' end), coalesce(r.tenant_id, u.tenant_id), coalesce(r.receipt_id, u.unit_id)
    from (select x.tenant_id, x.receipt_id from stepwell.action_receipt as x
        where (x.tenant_id, x.receipt_id) >= (stepwell._slice(1)::int, stepwell._slice(2))
            and (x.tenant_id, x.receipt_id) <= (stepwell._slice(3)::int, stepwell._slice(4))
            and x.receipt_id >= stepwell._slice(2) and x.receipt_id <= stepwell._slice(4)) as r
    full join (select w.tenant_id, w.unit_id from stepwell.work_unit as w
        where w.scope = 'receipt' and (w.tenant_id, w.unit_id) >= (stepwell._slice(1)::int, stepwell._slice(2))
            and (w.tenant_id, w.unit_id) <= (stepwell._slice(3)::int, stepwell._slice(4))
            and w.unit_id >= stepwell._slice(2) and w.unit_id <= stepwell._slice(4)) as u
        on r.tenant_id = u.tenant_id and r.receipt_id = u.unit_id
    where r.receipt_id is null or u.unit_id is null
    union all
    select 'effects_agree_with_their_receipts', format('receipt %s is intended, and the attempt of unit %s that made it has ended',
        r.receipt_id, r.unit_id), r.tenant_id, r.receipt_id
    from stepwell.action_receipt as r
    inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.receipt_id = u.unit_id
    where (u.tenant_id, u.unit_id) >= (stepwell._slice(1)::int, stepwell._slice(2))
            and (u.tenant_id, u.unit_id) <= (stepwell._slice(3)::int, stepwell._slice(4))
            and u.unit_id >= stepwell._slice(2) and u.unit_id <= stepwell._slice(4)
        and u.state_code = 'intended' and not exists (select from stepwell.work_unit as s
        where s.tenant_id = r.tenant_id and s.unit_id = r.unit_id and s.lease_no = r.lease_no and s.lease_session_id is not null)
    union all
    select 'effects_agree_with_their_receipts', format('receipt %s is %s, %s', r.receipt_id, u.state_code,
        case when r.reversed_by_receipt_id is null then 'and nothing reversed it'
            else 'but receipt ' || r.reversed_by_receipt_id || ' reversed it' end), r.tenant_id, r.receipt_id
    from stepwell.action_receipt as r
    inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.receipt_id = u.unit_id
    where (u.tenant_id, u.unit_id) >= (stepwell._slice(1)::int, stepwell._slice(2))
            and (u.tenant_id, u.unit_id) <= (stepwell._slice(3)::int, stepwell._slice(4))
            and u.unit_id >= stepwell._slice(2) and u.unit_id <= stepwell._slice(4)
        and (u.state_code = 'reversed') <> (r.reversed_by_receipt_id is not null)
    union all
    select 'effects_agree_with_their_receipts', format('run or job %s counts %s writes, its receipts %s', stepwell._run_of(c.unit_id),
        c.write_count, x.receipt_count), c.tenant_id, c.unit_id
    from stepwell.run_write_count as c
    cross join lateral (
        select count(*) as receipt_count
        from stepwell.action_receipt as r
        inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.receipt_id = u.unit_id
        where r.tenant_id = c.tenant_id and r.writes and u.state_code <> 'void' and exists (
            select from stepwell._runs_above(r.tenant_id, r.run_id) as a where a.run_id = stepwell._run_of(c.unit_id))
    ) as x
    -- The receipts of all runs below are counted: too many for a slice.
    where stepwell._slice(5) = 0 and c.write_count <> x.receipt_count;
end
$$;

-- Open units that nothing will ever change. A cheap query finds the few that are in none of the usual places;
-- fn_why_not_running decides about these.
create or replace function stepwell._invariant_explained()
returns table (invariant text, fault text, tenant_id int, unit_id bigint)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    with suspect as (
        select u.tenant_id, u.unit_id
        from stepwell.work_unit as u
        where u.scope in ('step', 'task', 'job') and (u.tenant_id, u.unit_id) >= (stepwell._slice(1)::int, stepwell._slice(2))
            and (u.tenant_id, u.unit_id) <= (stepwell._slice(3)::int, stepwell._slice(4))
            and u.unit_id >= stepwell._slice(2) and u.unit_id <= stepwell._slice(4)
            and ((u.state_code in ('ready', 'failed') and not exists (
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
    select 'every_open_unit_is_explained', w.sentence_en, s.tenant_id, s.unit_id
    from suspect as s
    cross join lateral stepwell.fn_why_not_running(s.unit_id, s.tenant_id) as w
    where w.code = 'unexplained'
    union all
    select 'every_open_unit_is_explained', format('step %s can never start: a step before it %s', u.unit_id, b.state_code), u.tenant_id, u.unit_id
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
    select 'every_open_unit_is_explained', format('job %s can never start: none of its parents can succeed', u.unit_id), u.tenant_id, u.unit_id
    from stepwell.work_unit as u
    inner join stepwell.workflow_step_def as d
        on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    where (u.tenant_id, u.unit_id) >= (stepwell._slice(1)::int, stepwell._slice(2))
            and (u.tenant_id, u.unit_id) <= (stepwell._slice(3)::int, stepwell._slice(4))
            and u.unit_id >= stepwell._slice(2) and u.unit_id <= stepwell._slice(4)
        and u.state_code = 'not_started' and u.scope = 'step' and d.config ->> 'join' = 'any'
        and stepwell._joins_parents(u.tenant_id, u.version_id, u.def_no, u.unit_id, '{cancelled,cannot_complete}')
            = stepwell._joins_parents(u.tenant_id, u.version_id, u.def_no, u.unit_id, null)
    union all
    select 'every_open_unit_is_explained', format('run %s is in progress, and every step of it has ended', p.run_id), p.tenant_id, u.unit_id
    from stepwell.run_progress as p
    inner join stepwell.work_unit as u on p.tenant_id = u.tenant_id and stepwell._run_unit(p.run_id) = u.unit_id
    where u.state_code = 'in_progress' and p.open_count = 0
        and (p.tenant_id, p.run_id) >= (stepwell._slice(1)::int, stepwell._run_of(stepwell._slice(2)))
            and (p.tenant_id, p.run_id) <= (stepwell._slice(3)::int, stepwell._run_of(stepwell._slice(4)))
            and p.run_id >= stepwell._run_of(stepwell._slice(2)) and p.run_id <= stepwell._run_of(stepwell._slice(4));
end
$$;
