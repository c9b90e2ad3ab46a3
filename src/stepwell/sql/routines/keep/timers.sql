-- Timers that are due are fired by the keeper, in batches. Callers of the helpers hold the locks of the runs. SW004:
-- the registry refuses.

-- Does what is due: frees entries of rate limits, queues retries and delayed jobs, wakes steps that sleep or whose
-- wait timed out, marks units whose deadline passed, and handles the timers of people's work. A unit that cannot be
-- locked now comes later; a unit whose timer fails is set aside, and the others fire. Returns how many timers fired and
-- when to look again.
-- Locks: the runs of the due units and the runs above, then their timers; at most p_limit of them, never waiting.
-- Idempotency: a timer fires once: it is deleted in the same transaction.
-- Raises: what is not the fault of a row.
create or replace function stepwell.fn_timers_fire(p_limit int default 500)
returns table (fired_count int, next_due_at timestamptz)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_count int := stepwell._rates_fire(v_now, p_limit);
    v_due constant record := stepwell._timers_lock(v_now, p_limit);
begin
    if v_due.unit_ids is not null then
        v_count := v_count + stepwell._units_isolate('_timers_fire', 'timers', v_due.tenant_ids, v_due.unit_ids);
    end if;
    return query select v_count, least(
        greatest((select min(t.due_at) from stepwell.timer as t),
            case when v_due.is_behind then v_now + interval '250 milliseconds' end),
        (select min(k.back_at) from stepwell.rate_token as k where not stepwell._is_set_aside(1, 'rates', 'all', v_now)));
end
$$;

-- Frees entries of rate limits. When that fails it is set aside, and timers fire all the same.
create or replace function stepwell._rates_fire(p_now timestamptz, p_limit int) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    if not exists (select from stepwell.rate_token as k where k.back_at <= p_now)
        or stepwell._is_set_aside(1, 'rates', 'all', p_now) then
        return 0;
    end if;
    begin
        return stepwell._rates_return(p_now, p_limit);
    exception when others then
        if not stepwell._is_fault_of_row(sqlstate) then
            raise;
        end if;
        perform stepwell._problem_open(1, 'set_aside', 'rates', 'all', null, sqlstate, sqlerrm);
        return 0;
    end;
end
$$;

-- The units of the first due timers whose locks are free, locked; those that are locked elsewhere are passed over, for a
-- limited number of pages. is_behind: some were passed over.
-- Locks: as _units_lock_free.
create or replace function stepwell._timers_lock(
    p_now timestamptz, p_limit int, out tenant_ids int[], out unit_ids bigint[], out is_behind boolean
)
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_page record;
    v_free record;
    v_after_at timestamptz := '-infinity'::timestamptz;
    v_after_tenant_id int := 0;
    v_after_unit_id bigint := 0::bigint;
begin
    is_behind := false;
    for v_page_no in 1 .. 20 loop
        select array_agg(x.tenant_id order by x.place) as tenant_ids, array_agg(x.unit_id order by x.place) as unit_ids,
            max(x.due_at) as last_at, count(*) as row_count
        into v_page
        from (
            select t.tenant_id, t.unit_id, t.due_at, row_number() over (order by t.due_at, t.tenant_id, t.unit_id) as place
            from stepwell.timer as t
            where t.due_at <= p_now and (t.due_at, t.tenant_id, t.unit_id) > (v_after_at, v_after_tenant_id, v_after_unit_id)
            order by t.due_at, t.tenant_id, t.unit_id
            limit p_limit - coalesce(cardinality(unit_ids), 0)
        ) as x;
        exit when v_page.unit_ids is null;
        v_free := stepwell._units_lock_free(v_page.tenant_ids, v_page.unit_ids);
        tenant_ids := tenant_ids || v_free.tenant_ids;
        unit_ids := unit_ids || v_free.unit_ids;
        is_behind := is_behind or v_free.is_short;
        exit when not v_free.is_short;
        v_after_at := v_page.last_at;
        v_after_tenant_id := v_page.tenant_ids[v_page.row_count];
        v_after_unit_id := v_page.unit_ids[v_page.row_count];
    end loop;
end
$$;

-- Fires the due timers of these units. Returns how many fired.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._timers_fire(p_tenant_ids int[], p_unit_ids bigint[]) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_part record;
    v_count int := 0;
begin
    if exists (select from stepwell.tenant as t where t.has_hold and t.tenant_id = any (p_tenant_ids)) then
        -- What a hold stops has no timer that could fire here.
        perform stepwell._clocks_stop(p_tenant_ids, p_unit_ids);
    end if;
    for v_part in
        with gone as (
            delete from stepwell.timer as t
            using unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
            where t.tenant_id = q.tenant_id and t.unit_id = q.unit_id and t.due_at <= v_now
            returning t.timer_kind, t.tenant_id, t.unit_id
        )
        select k.timer_kind, array_agg(g.tenant_id order by g.unit_id) as tenant_ids,
            array_agg(g.unit_id order by g.unit_id) as unit_ids
        from gone as g
        inner join stepwell.work_unit as u on g.tenant_id = u.tenant_id and g.unit_id = u.unit_id
        -- The delay of a job of a graph, whose parents may not have ended.
        cross join lateral (select case when g.timer_kind = 'start' and u.state_code = 'not_started' then 'delay'
            else g.timer_kind end) as k (timer_kind)
        -- A timer that does not fit the state of its unit any more wakes nothing, and must not stop the others.
        where case
            when g.timer_kind = 'sleep' then u.state_code = 'waiting'
            when k.timer_kind in ('start', 'retry') then u.state_code in ('ready', 'failed')
            else true end
        group by k.timer_kind
        order by k.timer_kind
    loop
        v_count := v_count + cardinality(v_part.unit_ids);
        case v_part.timer_kind
            when 'start', 'retry' then
                perform stepwell._units_queue(v_part.tenant_ids, v_part.unit_ids);
            when 'delay' then
                perform stepwell._delays_end(v_part.tenant_ids, v_part.unit_ids);
            when 'sleep' then
                perform stepwell._units_wake(v_part.tenant_ids, v_part.unit_ids, 'SLEPT', null, null, null);
            when 'wait_timeout' then
                perform stepwell._waits_expire(v_part.tenant_ids, v_part.unit_ids);
            when 'deadline' then
                perform stepwell._units_overdue(v_part.tenant_ids, v_part.unit_ids);
            when 'inputs' then
                -- Steps that were opened before their inputs were stored. One that cannot be bound stays as it was.
                perform stepwell._inputs_store(q.tenant_id, q.unit_id)
                from unnest(v_part.tenant_ids, v_part.unit_ids) as q (tenant_id, unit_id);
            else
                perform stepwell._timers_people(v_part.timer_kind, v_part.tenant_ids, v_part.unit_ids);
        end case;
    end loop;
    return v_count;
end
$$;

-- Waits whose time is up. A sub-workflow step cancels its run and fails for good; any other unit is woken, with the
-- reason that nothing came. A step that does not wait any more is left alone.
create or replace function stepwell._waits_expire(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_waiting record;
    v_step record;
begin
    select array_agg(u.tenant_id order by u.unit_id) as tenant_ids, array_agg(u.unit_id order by u.unit_id) as unit_ids
    into v_waiting
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where u.state_code = 'waiting';
    if v_waiting.unit_ids is not null then
        perform stepwell._units_wake(v_waiting.tenant_ids, v_waiting.unit_ids, 'WAITING_TIMEOUT', null, null, null);
    end if;
    for v_step in
        select u.tenant_id, u.unit_id, d.timeout_seconds
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        where u.state_code in ('in_progress', 'overdue', 'failed', 'blocked') and d.step_kind = 'subworkflow'
        order by u.unit_id
    loop
        -- A step before it may have cancelled it.
        continue when not exists (select from stepwell.work_unit as u where u.tenant_id = v_step.tenant_id
            and u.unit_id = v_step.unit_id and u.state_code in ('in_progress', 'overdue', 'failed', 'blocked'));
        perform stepwell._subruns_cancel(v_step.tenant_id, array[v_step.unit_id], 'engine', 'timeout');
        perform stepwell._subrun_steps_continue(array[v_step.tenant_id], array[v_step.unit_id]);
        perform stepwell._units_fail(array[v_step.tenant_id], array[v_step.unit_id], array[jsonb_build_object(
            'failure_class', 'timeout', 'outcome', 'dead', 'error', jsonb_build_object('type', 'WaitingTimeout',
                'message', format('the run of the sub-workflow did not end within %s seconds', v_step.timeout_seconds)))],
            'mow_orchestrator');
        perform stepwell._runs_settle(array[v_step.tenant_id], array[v_step.unit_id]);
    end loop;
end
$$;

-- Units past their deadline: a unit in progress becomes overdue; any other gets the time in overdue_first_at and an
-- event. A blocked one turns red.
create or replace function stepwell._units_overdue(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_late record;
begin
    for v_late in
        update stepwell.work_unit as u set overdue_first_at = u.deadline_at
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        where u.tenant_id = q.tenant_id and u.unit_id = q.unit_id and u.overdue_first_at is null
            and u.state_code in ('not_started', 'ready', 'waiting', 'blocked', 'failed')
        returning u.tenant_id, u.unit_id, u.scope, u.state_code, u.deadline_at
    loop
        perform stepwell._event_append(v_late.tenant_id, v_late.unit_id, v_late.scope || '.deadline_missed', 'engine',
            jsonb_build_object('deadline_at', v_late.deadline_at));
        if v_late.state_code = 'blocked' then
            perform stepwell._blocks_weigh(v_late.tenant_id, stepwell._run_of(v_late.unit_id));
        end if;
    end loop;
    select array_agg(u.tenant_id order by u.unit_id) as tenant_ids, array_agg(u.unit_id order by u.unit_id) as unit_ids,
        array_agg(jsonb_build_object('deadline_at', u.deadline_at) order by u.unit_id) as payloads
    into v_late
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where u.state_code = 'in_progress';
    perform stepwell._units_move(v_late.tenant_ids, v_late.unit_ids, 'overdue', 'system', 'timer', 'deadline_passed',
        'engine', null, v_late.payloads);
    perform stepwell._subrun_states_show(p_tenant_ids, array(select stepwell._run_of(q) from unnest(p_unit_ids) as q));
end
$$;

-- Due timers of people's work: blocks that turn red, approvals that expire, escalation levels that are notified.
create or replace function stepwell._timers_people(p_timer_kind text, p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_due record;
begin
    if p_timer_kind = 'block_severity' then
        perform stepwell._blocks_weigh(r.tenant_id, r.run_id)
        from (
            select distinct q.tenant_id, stepwell._run_of(q.unit_id) as run_id
            from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        ) as r;
    elsif p_timer_kind = 'approval_expiry' then
        perform stepwell._units_move(p_tenant_ids, p_unit_ids, 'expired', 'system', 'timer', 'approval_expiry', 'engine');
        perform stepwell._approvals_close(p_tenant_ids, p_unit_ids, 'engine');
        perform stepwell._approval_settle(q.tenant_id, q.unit_id, 'engine')
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id);
    elsif p_timer_kind = 'escalation' then
        for v_due in
            select e.tenant_id, e.unit_id, e.level
            from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
            inner join stepwell.step_escalation as e on q.tenant_id = e.tenant_id and q.unit_id = e.unit_id
            where e.told_at is null and e.due_at <= stepwell.now()
            order by e.unit_id, e.level
        loop
            perform stepwell._escalation_tell(v_due.tenant_id, v_due.unit_id, v_due.level, 'engine', null);
            perform stepwell._people_timers(v_due.tenant_id, array[v_due.unit_id]);
        end loop;
    end if;
end
$$;
