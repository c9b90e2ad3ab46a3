-- The timers of deadlines, and those of people's work: severity of a block, escalation.

-- Sets or deletes the timer of the deadline of steps that the engine or a worker carries out, by their state: a step that
-- has ended has none; one that begins to be worked on after its deadline is overdue at once.
-- Locks: the caller holds the units.
create or replace function stepwell._deadline_timers(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
begin
    insert into stepwell.timer (tenant_id, unit_id, timer_kind, due_at)
    select u.tenant_id, u.unit_id, 'deadline', u.deadline_at
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where u.has_deadline and u.deadline_at is not null
        and (u.state_code = 'in_progress' or (u.state_code in ('ready', 'waiting', 'blocked', 'failed') and u.deadline_at > v_now))
    on conflict (tenant_id, unit_id, timer_kind) do update set due_at = excluded.due_at;
    delete from stepwell.timer as t
    using unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id), stepwell.work_unit as u
    where t.tenant_id = q.tenant_id and t.unit_id = q.unit_id and t.timer_kind = 'deadline' and u.tenant_id = q.tenant_id
        and u.unit_id = q.unit_id and u.has_deadline and stepwell._has_ended(u.state_code);
end
$$;

-- Sets the timers of these units again from their rows: deadline, severity of a block, next escalation level. A state
-- change deletes every timer of a unit; this restores those that are still needed.
-- Locks: the caller holds the runs.
create or replace function stepwell._people_timers(p_tenant_id int, p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
begin
    insert into stepwell.timer (tenant_id, unit_id, timer_kind, due_at)
    select u.tenant_id, u.unit_id, 'deadline', u.deadline_at
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = any (p_unit_ids) and u.deadline_at is not null
        and (u.state_code = 'in_progress' or (u.state_code in ('ready', 'waiting', 'blocked') and u.deadline_at > v_now))
    union all
    select u.tenant_id, u.unit_id, 'block_severity', b.blocked_at + make_interval(
        secs => stepwell._class_limit(u.tenant_id, u.unit_id, 'block_severity.threshold_seconds')::float8)
    from stepwell.work_unit as u
    inner join stepwell.step_block as b on u.tenant_id = b.tenant_id and u.unit_id = b.unit_id
    -- Also while it is red now: a block that leaves the critical path still turns red with time.
    where u.tenant_id = p_tenant_id and u.unit_id = any (p_unit_ids) and u.state_code = 'blocked'
    union all
    select u.tenant_id, u.unit_id, 'escalation', min(e.due_at)
    from stepwell.work_unit as u
    inner join stepwell.step_escalation as e on u.tenant_id = e.tenant_id and u.unit_id = e.unit_id and e.told_at is null
    where u.tenant_id = p_tenant_id and u.unit_id = any (p_unit_ids)
        and u.state_code in ('ready', 'in_progress', 'waiting', 'blocked', 'overdue')
    group by u.tenant_id, u.unit_id
    on conflict (tenant_id, unit_id, timer_kind) do update set due_at = excluded.due_at;
end
$$;
