-- The clocks of held units: deadlines, escalations and the time limits of sub-workflows stop, and are moved by exactly the time
-- that they stood still. Each stop and each move is an event of the unit.

-- Stops the clocks of those of these units that a hold stops: the deadline is taken from the unit, its timers are taken away,
-- and both are kept. A clock that stands still stays as it was kept first. Returns how many it stopped.
-- Locks: the units, in order.
create or replace function stepwell._clocks_stop(p_tenant_ids int[], p_unit_ids bigint[]) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_unit record;
    v_event_id bigint;
    v_count int := 0;
begin
    for v_unit in
        select u.tenant_id, u.unit_id, u.deadline_at, s.hold_id, t.timers,
            greatest(h.opened_at, least(v_now, u.last_transition_at)) as stopped_at
        from stepwell._holds_of(p_tenant_ids, p_unit_ids) as s
        inner join stepwell.incident_hold as h on s.tenant_id = h.tenant_id and s.hold_id = h.hold_id
        inner join stepwell.work_unit as u on s.tenant_id = u.tenant_id and s.unit_id = u.unit_id
        cross join lateral (
            select coalesce(jsonb_object_agg(t.timer_kind, t.due_at), '{}') as timers
            from stepwell.timer as t
            where t.tenant_id = u.tenant_id and t.unit_id = u.unit_id and stepwell._is_clock(u, t.timer_kind)
        ) as t
        where u.scope in ('step', 'task', 'job') and not stepwell._has_ended(u.state_code)
            and (u.deadline_at is not null or t.timers <> '{}')
        order by u.tenant_id, u.unit_id
        for update of u
    loop
        if not exists (select from stepwell.incident_hold_clock as c
            where c.tenant_id = v_unit.tenant_id and c.unit_id = v_unit.unit_id and c.moved_at is null) then
            v_event_id := stepwell._event_append(v_unit.tenant_id, v_unit.unit_id, 'clock.stopped', 'engine', jsonb_strip_nulls(
                jsonb_build_object('hold_id', v_unit.hold_id::text, 'deadline_at', v_unit.deadline_at, 'stopped_at', v_unit.stopped_at)));
            insert into stepwell.incident_hold_clock (tenant_id, unit_id, hold_id, stopped_at, deadline_at, timers, stopped_event_id)
            values (v_unit.tenant_id, v_unit.unit_id, v_unit.hold_id, v_unit.stopped_at, v_unit.deadline_at, v_unit.timers, v_event_id);
            v_count := v_count + 1;
        end if;
        update stepwell.work_unit as u set deadline_at = null
        where u.tenant_id = v_unit.tenant_id and u.unit_id = v_unit.unit_id and u.deadline_at is not null;
        delete from stepwell.timer as t
        where t.tenant_id = v_unit.tenant_id and t.unit_id = v_unit.unit_id and v_unit.timers ? t.timer_kind;
    end loop;
    return v_count;
end
$$;

-- Whether a timer of a unit is a clock that a hold stops. The time limit of a sub-workflow is one; waits for events and retries
-- run on, because what they wake stays held.
create or replace function stepwell._is_clock(p_unit stepwell.work_unit, p_timer_kind text) returns boolean
language sql stable
set search_path = stepwell, pg_temp
as $$
    select p_timer_kind in ('deadline', 'escalation') or (p_timer_kind = 'wait_timeout' and exists (
        select from stepwell.workflow_step_def as d
        where d.tenant_id = p_unit.tenant_id and d.version_id = p_unit.version_id and d.step_no = p_unit.def_no
            and d.step_kind = 'subworkflow'))
$$;

-- Stops up to n clocks of a tenant that still go on although a hold stops their units: those with a timer, and those that are
-- late. Returns how many.
-- Locks: as _clocks_stop.
create or replace function stepwell._clocks_find(p_tenant_id int, p_limit int) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_unit_ids bigint[];
begin
    v_unit_ids := array(
        select x.unit_id
        from (
            select t.unit_id from stepwell.timer as t
            where t.tenant_id = p_tenant_id and t.timer_kind in ('deadline', 'escalation', 'wait_timeout')
            union
            select u.unit_id from stepwell.work_unit as u
            where u.tenant_id = p_tenant_id and u.overdue_first_at is not null and u.deadline_at is not null
                and not stepwell._has_ended(u.state_code)
        ) as x
        where exists (select from stepwell._holds_of(array[p_tenant_id], array[x.unit_id]))
        order by x.unit_id
        limit p_limit);
    if cardinality(v_unit_ids) = 0 then
        return 0;
    end if;
    return stepwell._clocks_stop(array_fill(p_tenant_id, array[cardinality(v_unit_ids)]), v_unit_ids);
end
$$;

-- Lets up to n clocks go on whose units no hold stops any more, or that have ended: every time is moved by as long as it stood
-- still, with an event that says how long. Returns how many.
-- Locks: the units, in order, without those that others hold.
create or replace function stepwell._clocks_move(p_tenant_id int, p_limit int) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_clock record;
    v_event_id bigint;
    v_unit_ids bigint[] := '{}'::bigint[];
begin
    for v_clock in
        select c.unit_id, c.clock_no, c.hold_id, c.deadline_at, c.timers,
            greatest(case when stepwell._has_ended(u.state_code) then least(u.last_transition_at, v_now) else v_now end
                - c.stopped_at, interval '0') as held_for, stepwell._has_ended(u.state_code) as has_ended
        from stepwell.incident_hold_clock as c
        inner join stepwell.work_unit as u on c.tenant_id = u.tenant_id and c.unit_id = u.unit_id
        where c.tenant_id = p_tenant_id and c.moved_at is null
            and (stepwell._has_ended(u.state_code) or not exists (select from stepwell._holds_of(array[p_tenant_id], array[c.unit_id])))
        order by c.unit_id
        limit p_limit
        for update of u skip locked
    loop
        update stepwell.work_unit as u set deadline_at = v_clock.deadline_at + v_clock.held_for
        where u.tenant_id = p_tenant_id and u.unit_id = v_clock.unit_id and v_clock.deadline_at is not null;
        update stepwell.step_escalation as e set due_at = e.due_at + v_clock.held_for
        where e.tenant_id = p_tenant_id and e.unit_id = v_clock.unit_id and e.told_at is null;
        insert into stepwell.timer (tenant_id, unit_id, timer_kind, due_at)
        select p_tenant_id, v_clock.unit_id, t.kind, t.due_at::timestamptz + v_clock.held_for
        from jsonb_each_text(v_clock.timers) as t (kind, due_at)
        where not v_clock.has_ended
        on conflict (tenant_id, unit_id, timer_kind) do update set due_at = excluded.due_at;
        v_event_id := stepwell._event_append(p_tenant_id, v_clock.unit_id, 'clock.moved', 'engine', jsonb_strip_nulls(jsonb_build_object(
            'hold_id', v_clock.hold_id::text, 'held_seconds', round(extract(epoch from v_clock.held_for), 3),
            'deadline_from', v_clock.deadline_at, 'deadline_to', v_clock.deadline_at + v_clock.held_for)));
        update stepwell.incident_hold_clock as c set moved_at = v_now, held_for = v_clock.held_for, moved_event_id = v_event_id
        where c.tenant_id = p_tenant_id and c.unit_id = v_clock.unit_id and c.clock_no = v_clock.clock_no;
        if not v_clock.has_ended then
            v_unit_ids := v_unit_ids || v_clock.unit_id;
        end if;
    end loop;
    if cardinality(v_unit_ids) > 0 then
        perform stepwell._deadline_timers(array_fill(p_tenant_id, array[cardinality(v_unit_ids)]), v_unit_ids);
        perform stepwell._people_timers(p_tenant_id, v_unit_ids);
    end if;
    return cardinality(v_unit_ids);
end
$$;
