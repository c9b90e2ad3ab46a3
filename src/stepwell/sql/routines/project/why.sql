-- Why nobody works on a unit now, in one sentence, and who can change that.

-- Why nobody works on a unit (run, step, task or job) now, or who does: a code, one sentence in each language, and who
-- can change it. The sentences are texts of the registry (why.<code>, or why.<code>.<variant> where the facts name one).
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when there is no such unit.
create or replace function stepwell.fn_why_not_running(p_unit_id bigint, p_tenant_id int default 1)
returns table (code text, sentence_en text, sentence_vi text, who text)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_unit stepwell.work_unit;
    v_child stepwell.work_unit;
    v_found record;
    v_problem record;
begin
    select u.* into v_unit from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    if not found then
        raise exception using errcode = 'SW002', message = format('%s does not exist', stepwell._unit_ref(p_unit_id));
    end if;
    if v_unit.scope = 'workflow_run' and v_unit.state_code = 'in_progress' then
        -- For a run the answer is that of its first open step.
        select u.* into v_child
        from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id between p_unit_id + 1 and stepwell._run_last(stepwell._run_of(p_unit_id))
            and not stepwell._has_ended(u.state_code)
        order by u.state_code = 'not_started', u.unit_id
        limit 1;
        if found then
            v_unit := v_child;
        end if;
    end if;
    select w.* into v_found from stepwell._why(v_unit) as w;
    if v_found.code = 'unexplained' and not stepwell.sees_all_steps() then
        -- What is seen does not explain it: a step does that is not shown.
        select 'hidden' as code, 'nobody' as who, jsonb_build_object('name', stepwell._unit_name(v_unit)) as facts into v_found;
    end if;
    select p.reason, p.retry_at into v_problem from stepwell.governance_problem as p
    where p.tenant_id = p_tenant_id and p.category_code = 'set_aside' and p.unit_id = v_unit.unit_id and p.closed_at is null
    order by p.problem_id desc limit 1;
    if found and v_found.code <> 'ended' then
        select 'set_aside' as code, 'operator' as who, jsonb_build_object('name', stepwell._unit_name(v_unit),
            'reason', v_problem.reason, 'until', v_problem.retry_at) as facts into v_found;
    end if;
    return query
    select v_found.code, stepwell._text_fill(k.text_key, 'en', v_found.facts), stepwell._text_fill(k.text_key, 'vi', v_found.facts), v_found.who
    from (select concat_ws('.', 'why', v_found.code, v_found.facts ->> 'variant') as text_key) as k;
end
$$;

-- The reason behind fn_why_not_running: a code, the values for its sentence, and who can change it. A unit for which no
-- reason is found is `unexplained`, and that is a fault of the engine.
create or replace function stepwell._why(p_unit stepwell.work_unit)
returns table (code text, facts jsonb, who text)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_name constant text := stepwell._unit_name(p_unit);
    v_found record;
begin
    if p_unit.state_code in ('completed', 'skipped', 'cancelled', 'cannot_complete', 'approved', 'rejected', 'expired',
        'merged', 'confirmed', 'void', 'reversed') or (p_unit.scope = 'workflow_run' and p_unit.state_code = 'failed') then
        return query select 'ended', jsonb_build_object('name', v_name, 'state', p_unit.state_code),
            case when p_unit.state_code in ('failed', 'cannot_complete') then 'reviewer' else 'nobody' end;
    elsif p_unit.scope = 'step' and p_unit.executor_class_id is null and p_unit.pic_id is null
        and (p_unit.state_code in ('in_progress', 'overdue') or (p_unit.state_code in ('failed', 'blocked') and exists (
            select from stepwell.work_unit as w where w.tenant_id = p_unit.tenant_id and w.parent_id = p_unit.unit_id
                and w.scope = 'workflow_run' and not stepwell._run_has_ended(w.state_code)))) then
        -- A step that the engine carries out: a sub-workflow whose run is in progress; by its colour the step may be blocked
        -- or have failed.
        return query select w.* from stepwell._why_waiting(p_unit, v_name) as w;
    elsif p_unit.scope = 'cut_request' then
        return query select 'cut', jsonb_build_object('name', v_name, 'reason', coalesce(c.reason, p_unit.state_code)), 'operator'
        from stepwell.cut_request_detail as c where c.tenant_id = p_unit.tenant_id and c.cut_request_id = p_unit.unit_id;
    elsif p_unit.state_code in ('in_progress', 'overdue') and p_unit.scope <> 'workflow_run' then
        select s.worker_name, s.expires_at into v_found
        from stepwell.worker_session as s where s.session_id = p_unit.lease_session_id;
        return query select case when found then 'leased' else 'in_progress' end,
            jsonb_build_object('name', v_name, 'worker', v_found.worker_name, 'until', v_found.expires_at,
                'person', coalesce(stepwell._person_name(p_unit.tenant_id, p_unit.pic_id), 'engine')),
            case when found then 'worker:' || v_found.worker_name
                else 'person:' || coalesce(stepwell._person_name(p_unit.tenant_id, p_unit.pic_id), '?') end;
    elsif p_unit.state_code = 'paused' or exists (select from stepwell.run_progress as p
        where p.tenant_id = p_unit.tenant_id and p.run_id = stepwell._run_of(p_unit.unit_id) and p.frozen_at is not null) then
        return query select 'paused', jsonb_build_object('name', v_name, 'run', stepwell._run_of(p_unit.unit_id)), 'reviewer';
    elsif p_unit.state_code = 'not_started' or (p_unit.state_code = 'ready' and p_unit.executor_class_id is null and exists (
        select from stepwell.workflow_step_def as d
        where d.tenant_id = p_unit.tenant_id and d.version_id = p_unit.version_id and d.step_no = p_unit.def_no
            and d.step_kind = 'conditional')) then
        return query select w.* from stepwell._why_not_started(p_unit, v_name) as w;
    elsif p_unit.state_code in ('ready', 'failed') then
        return query select w.* from stepwell._why_not_claimed(p_unit, v_name) as w;
    elsif p_unit.state_code = 'waiting' then
        return query select w.* from stepwell._why_waiting(p_unit, v_name) as w;
    elsif p_unit.state_code = 'blocked' then
        select e.payload ->> 'block_reason' as reason into v_found
        from stepwell.event_log as e
        where e.tenant_id = p_unit.tenant_id and e.run_id = stepwell._run_of(p_unit.unit_id)
            and e.unit_id = p_unit.unit_id and e.to_state = 'blocked'
        order by e.event_id desc limit 1;
        return query select 'blocked', jsonb_build_object('name', v_name,
            'reason', format('{vocab.block_reason.%s}', coalesce(v_found.reason, 'other'))),
            coalesce('person:' || stepwell._person_name(p_unit.tenant_id, p_unit.pic_id), 'operator');
    else
        return query select w.* from stepwell._why_approval(p_unit, v_name) as w;
        if not found then
            return query select case p_unit.scope when 'receipt' then 'receipt' else 'unexplained' end,
                jsonb_build_object('name', v_name, 'state', p_unit.state_code), 'reviewer';
        end if;
    end if;
end
$$;

-- The open approval that a unit waits for, or that it is; no row when there is none.
create or replace function stepwell._why_approval(p_unit stepwell.work_unit, p_name text)
returns table (code text, facts jsonb, who text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select
        'approval',
        jsonb_build_object('name', p_name, 'approval', stepwell._unit_ref(a.approval_id), 'quorum', a.quorum, 'agreed', (
            select count(*) from stepwell.approval_vote as v
            where v.tenant_id = a.tenant_id and v.approval_id = a.approval_id and v.decision = 'approve')),
        'reviewer'
    from stepwell.approval_detail as a
    where a.tenant_id = p_unit.tenant_id and p_unit.unit_id in (a.subject_unit_id, a.approval_id) and a.decided_at is null
    order by a.approval_id desc
    limit 1
$$;

-- Why a unit is not ready, or a conditional is not decided: a branch is not chosen yet, or steps before it have not
-- ended, by name.
create or replace function stepwell._why_not_started(p_unit stepwell.work_unit, p_name text)
returns table (code text, facts jsonb, who text)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_conditional text;
    v_due_at timestamptz;
    v_found record;
begin
    select t.due_at into v_due_at from stepwell.timer as t
    where t.tenant_id = p_unit.tenant_id and t.unit_id = p_unit.unit_id and t.timer_kind = 'start';
    if found then
        return query select 'schedule', jsonb_build_object('name', p_name, 'at', v_due_at), 'clock';
        return;
    end if;
    select g.step_id into v_conditional
    from stepwell.workflow_step_def as d
    inner join stepwell.workflow_branch as b
        on d.tenant_id = b.tenant_id and d.version_id = b.version_id and d.branch_no = b.branch_no
    inner join stepwell.workflow_step_def as g
        on b.tenant_id = g.tenant_id and b.version_id = g.version_id and b.conditional_no = g.step_no
    inner join stepwell.work_unit as u
        on u.tenant_id = p_unit.tenant_id and u.unit_id = p_unit.unit_id + b.conditional_no - p_unit.def_no
    where d.tenant_id = p_unit.tenant_id and d.version_id = p_unit.version_id and d.step_no = p_unit.def_no
        and u.state_code not in ('completed', 'skipped');
    if found then
        return query select 'branch', jsonb_build_object('name', p_name, 'conditional', v_conditional), 'engine';
        return;
    end if;
    select
        count(*) as open_count,
        string_agg(format('%s ({state.%s.label})', o.step_id, o.state_code), ', ' order by o.unit_id)
            filter (where o.place <= 5) || case when count(*) > 5 then ', …' else '' end as names
    into v_found
    from (
        select b.unit_id, d.step_id, u.state_code, row_number() over (order by b.unit_id) as place
        from (
            select x.tenant_id, x.unit_id from stepwell._steps_behind(array[p_unit.tenant_id], array[p_unit.unit_id]) as x
            union all
            -- A step of an item whose Map was opened again, and has not begun.
            select m.tenant_id, m.unit_id from stepwell.work_unit as m
            where m.tenant_id = p_unit.tenant_id and m.unit_id = p_unit.parent_id and m.scope = 'step'
                and m.state_code in ('not_started', 'ready')
        ) as b
        inner join stepwell.work_unit as u on b.tenant_id = u.tenant_id and b.unit_id = u.unit_id
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    ) as o;
    return query select case when v_found.open_count > 0 then 'dependency' else 'unexplained' end,
        jsonb_build_object('name', p_name, 'steps', v_found.names, 'count', v_found.open_count,
            'state', p_unit.state_code), 'engine';
end
$$;

-- Why nobody works on a ready unit: its time has not come, it is in line for a limit, no worker serves its class or its
-- operation, it is about to be claimed, or it is the work of a person.
create or replace function stepwell._why_not_claimed(p_unit stepwell.work_unit, p_name text)
returns table (code text, facts jsonb, who text)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_found record;
    v_class text;
begin
    select t.timer_kind, t.due_at into v_found from stepwell.timer as t
    where t.tenant_id = p_unit.tenant_id and t.unit_id = p_unit.unit_id and t.timer_kind in ('start', 'retry');
    if found then
        return query select case v_found.timer_kind when 'retry' then 'retry' else 'schedule' end,
            jsonb_build_object('name', p_name, 'at', v_found.due_at, 'attempt', p_unit.attempt_count + 1,
                'max_attempts', p_unit.max_attempts), 'clock';
        return;
    end if;
    if p_unit.executor_class_id is null then
        select d.config ->> 'role' as role into v_found
        from stepwell.workflow_step_def as d
        where d.tenant_id = p_unit.tenant_id and d.version_id = p_unit.version_id and d.step_no = p_unit.def_no
            and d.step_kind = 'human';
        return query select case when not found and p_unit.scope <> 'task' then 'unexplained'
            when p_unit.pic_id is not null then 'assigned' else 'human' end,
            jsonb_build_object('name', p_name, 'role', v_found.role, 'state', p_unit.state_code,
                'variant', case when v_found.role is null and p_unit.pic_id is null and (found or p_unit.scope = 'task') then 'anyone' end,
                'person', stepwell._person_name(p_unit.tenant_id, p_unit.pic_id)),
            coalesce('person:' || stepwell._person_name(p_unit.tenant_id, p_unit.pic_id), 'role:' || v_found.role, 'anyone');
        return;
    end if;
    select c.class_name into v_class from stepwell.executor_class as c where c.executor_class_id = p_unit.executor_class_id;
    select s.max_count, s.rate_count, s.rate_seconds,
        s.rate_used_count >= s.rate_count and s.used_count < s.max_count as by_rate, (
        select min(k.back_at) from stepwell.rate_token as k
        where k.tenant_id = l.tenant_id and k.slot_key = l.slot_key) as back_at, (
        select count(*) from stepwell.job_line as b
        where b.tenant_id = l.tenant_id and b.slot_key = l.slot_key and (b.rank, b.unit_id) <= (l.rank, l.unit_id)
    ) as place into v_found
    from stepwell.job_line as l
    inner join stepwell.concurrency_slot as s on l.tenant_id = s.tenant_id and l.slot_key = s.slot_key
    where l.tenant_id = p_unit.tenant_id and l.slot_key = p_unit.slot_key and l.rank = -p_unit.priority
        and l.unit_id = p_unit.unit_id;
    if found and v_found.by_rate then
        return query select 'rate', jsonb_build_object('name', p_name, 'key', p_unit.slot_key, 'place', v_found.place,
            'limit', v_found.rate_count, 'seconds', v_found.rate_seconds, 'at', v_found.back_at), 'clock';
    elsif found then
        return query select 'concurrency', jsonb_build_object('name', p_name, 'key', p_unit.slot_key,
            'limit', v_found.max_count, 'place', v_found.place), 'engine';
    elsif not exists (select from stepwell.job_ready as r where r.executor_class_id = p_unit.executor_class_id
        and r.tenant_id = p_unit.tenant_id and r.workspace_id = stepwell._workspace_of(p_unit.tenant_id, p_unit.unit_id) and r.rank = -p_unit.priority
        and r.operation_id = p_unit.operation_id and r.unit_id = p_unit.unit_id) then
        return query select 'unexplained', jsonb_build_object('name', p_name, 'state', p_unit.state_code), 'operator';
    elsif not exists (select from stepwell.worker_session as s
        where s.closed_at is null and s.expires_at >= stepwell.now() and p_unit.executor_class_id = any (s.executor_class_ids)) then
        return query select 'no_worker', jsonb_build_object('name', p_name, 'class', v_class), 'operator';
    elsif not exists (select from stepwell.worker_session as s
        where s.closed_at is null and s.expires_at >= stepwell.now() and p_unit.executor_class_id = any (s.executor_class_ids)
            and (s.handler_ids is null or (select o.handler_id from stepwell.operation as o
                where o.tenant_id = p_unit.tenant_id and o.operation_id = p_unit.operation_id) = any (s.handler_ids))) then
        return query select 'no_handler', jsonb_build_object('name', p_name, 'operation', (
            select o.operation_name from stepwell.operation as o
            where o.tenant_id = p_unit.tenant_id and o.operation_id = p_unit.operation_id)), 'operator';
    elsif (select count(*) from stepwell.tenant_lease as l
            inner join stepwell.work_unit as u on l.tenant_id = u.tenant_id and l.unit_id = u.unit_id and l.lease_no = u.lease_no
            where l.tenant_id = p_unit.tenant_id and u.lease_session_id is not null)
        >= (select t.max_concurrency from stepwell.tenant as t where t.tenant_id = p_unit.tenant_id) then
        return query select 'tenant_cap', jsonb_build_object('name', p_name, 'limit',
            (select t.max_concurrency from stepwell.tenant as t where t.tenant_id = p_unit.tenant_id)), 'operator';
    else
        return query select 'queued', jsonb_build_object('name', p_name, 'class', v_class, 'place', (
            select count(*) from stepwell.job_ready as r where r.tenant_id = p_unit.tenant_id
                and r.executor_class_id = p_unit.executor_class_id and (r.rank, r.unit_id) <= (-p_unit.priority, p_unit.unit_id))), 'worker';
    end if;
end
$$;

-- What a waiting unit waits for: an approval, an event, a time, another run, the items of a Map, a person.
create or replace function stepwell._why_waiting(p_unit stepwell.work_unit, p_name text)
returns table (code text, facts jsonb, who text)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_found record;
    v_until timestamptz;
begin
    return query select w.* from stepwell._why_approval(p_unit, p_name) as w;
    if found then
        return;
    end if;
    select min(t.due_at) into v_until from stepwell.timer as t
    where t.tenant_id = p_unit.tenant_id and t.unit_id = p_unit.unit_id and t.timer_kind in ('wait_timeout', 'sleep');
    select w.event_type into v_found from stepwell.event_wait as w
    where w.tenant_id = p_unit.tenant_id and w.unit_id = p_unit.unit_id;
    if found then
        return query select 'event', jsonb_build_object('name', p_name, 'event_type', v_found.event_type,
            'until', v_until, 'variant', case when v_until is null then 'open' end), 'sender of ' || v_found.event_type;
        return;
    end if;
    if p_unit.waiting_facet = 'waiting_time_gate' and v_until is not null then
        return query select 'schedule', jsonb_build_object('name', p_name, 'at', v_until), 'clock';
        return;
    end if;
    select string_agg(format('%s ({state.%s.label})', stepwell._run_of(u.unit_id), u.state_code), ', ' order by u.unit_id) as runs into v_found
    from stepwell.work_unit as u
    where u.tenant_id = p_unit.tenant_id and u.parent_id = p_unit.unit_id and u.scope = 'workflow_run'
        and not stepwell._run_has_ended(u.state_code);
    if v_found.runs is not null then
        return query select 'subworkflow', jsonb_build_object('name', p_name, 'runs', v_found.runs), 'engine';
        return;
    end if;
    select count(*) as open_count into v_found
    from stepwell.work_unit as u
    where u.tenant_id = p_unit.tenant_id and u.parent_id = p_unit.unit_id and u.scope = 'step'
        and not stepwell._has_ended(u.state_code);
    if v_found.open_count > 0 then
        return query select 'items', jsonb_build_object('name', p_name, 'count', v_found.open_count), 'engine';
        return;
    end if;
    select count(*) as open_count, string_agg(d.step_id, ', ' order by b.unit_id) as steps into v_found
    from stepwell.step_run_correction_cycle as c
    cross join lateral unnest(c.waits_for) as x (unit_id)
    inner join stepwell.work_unit as b on c.tenant_id = b.tenant_id and x.unit_id = b.unit_id
    inner join stepwell.workflow_step_def as d
        on b.tenant_id = d.tenant_id and b.version_id = d.version_id and b.def_no = d.step_no
    where c.tenant_id = p_unit.tenant_id and c.unit_id = p_unit.unit_id and c.closed_at is null
        and p_unit.waiting_facet = 'waiting_dependency' and b.state_code not in ('completed', 'skipped');
    if v_found.open_count > 0 then
        return query select 'dependency', jsonb_build_object('name', p_name, 'count', v_found.open_count,
            'steps', v_found.steps), 'engine';
        return;
    end if;
    return query select case when p_unit.waiting_facet = 'waiting_human' or p_unit.pic_id is not null then 'human'
        else 'unexplained' end, jsonb_build_object('name', p_name, 'state', p_unit.state_code,
            'person', stepwell._person_name(p_unit.tenant_id, p_unit.pic_id), 'facet', format('{facet.%s.label}', p_unit.waiting_facet),
            'variant', case when p_unit.pic_id is not null then 'parked' when p_unit.waiting_facet = 'waiting_human' then 'anyone' end),
        coalesce('person:' || stepwell._person_name(p_unit.tenant_id, p_unit.pic_id), 'anyone');
end
$$;
