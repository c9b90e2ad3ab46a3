-- Why nobody works on a unit now, in one sentence, and who can change that. What the queue does to a ready unit is in
-- why_queue.sql, the chain of causes in unblock.sql.

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
    v_found record;
begin
    select u.* into v_unit from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    if not found then
        raise exception using errcode = 'SW002', message = format('%s does not exist', stepwell._unit_ref(p_unit_id));
    end if;
    v_unit := stepwell._why_unit(v_unit);
    select w.* into v_found from stepwell._why_found(v_unit) as w;
    return query
    select v_found.code, stepwell._text_fill(k.text_key, 'en', v_found.facts), stepwell._text_fill(k.text_key, 'vi', v_found.facts), v_found.who
    from (select concat_ws('.', 'why', v_found.code, v_found.facts ->> 'variant') as text_key) as k;
end
$$;

-- The unit whose reason is that of this one: for a run in progress its first open step, else the unit itself.
create or replace function stepwell._why_unit(p_unit stepwell.work_unit) returns stepwell.work_unit
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_step stepwell.work_unit;
begin
    if p_unit.scope = 'workflow_run' and p_unit.state_code = 'in_progress' then
        select u.* into v_step
        from stepwell.work_unit as u
        where u.tenant_id = p_unit.tenant_id
            and u.unit_id between p_unit.unit_id + 1 and stepwell._run_last(stepwell._run_of(p_unit.unit_id))
            and not stepwell._has_ended(u.state_code)
        order by u.state_code = 'not_started', u.unit_id
        limit 1;
        if found then
            return v_step;
        end if;
    end if;
    return p_unit;
end
$$;

-- The reason of this unit, whatever causes it: held, set aside, or what _why finds.
create or replace function stepwell._why_found(p_unit stepwell.work_unit)
returns table (code text, facts jsonb, who text)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_found record;
    v_problem record;
begin
    select w.* into v_found from stepwell._why(p_unit) as w;
    if v_found.code = 'unexplained' and not stepwell.sees_all_steps() then
        -- What is seen does not explain it: a step does that is not shown.
        return query select 'hidden', jsonb_build_object('name', stepwell._unit_name(p_unit)), 'nobody';
        return;
    end if;
    if v_found.code in ('ended', 'write_cap') then
        return query select v_found.code, v_found.facts, v_found.who;
        return;
    end if;
    return query select w.* from stepwell._why_held(p_unit, v_found.code) as w;
    if found then
        return;
    end if;
    if v_found.code = 'event' and v_found.facts ->> 'event_type' ~ '^hold[.]released[.][0-9]{1,18}$' then
        -- A handler whose action is held waits for the end of the hold: who ends it helps, not who sends an event.
        return query select 'hold', jsonb_build_object('name', stepwell._unit_name(p_unit), 'reason', h.reason, 'hold', h.hold_id), 'operator'
        from stepwell.incident_hold as h
        where h.tenant_id = p_unit.tenant_id and h.hold_id = split_part(v_found.facts ->> 'event_type', '.', 3)::bigint and h.released_at is null;
        if found then
            return;
        end if;
    end if;
    select p.reason, p.retry_at into v_problem from stepwell.governance_problem as p
    where p.tenant_id = p_unit.tenant_id and p.category_code = 'set_aside' and p.unit_id = p_unit.unit_id and p.closed_at is null
    order by p.problem_id desc limit 1;
    if found then
        return query select 'set_aside', jsonb_build_object('name', stepwell._unit_name(p_unit),
            'reason', v_problem.reason, 'until', v_problem.retry_at), 'operator';
    else
        return query select v_found.code, v_found.facts, v_found.who;
    end if;
end
$$;

-- The incident hold that keeps a unit back, for one that could go on otherwise; no row when there is none. What waits for something
-- else first, or is at work, is not told to wait for a hold.
create or replace function stepwell._why_held(p_unit stepwell.work_unit, p_code text)
returns table (code text, facts jsonb, who text)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    if p_code in ('leased', 'dependency', 'branch', 'items', 'subworkflow', 'event', 'paused', 'receipt', 'cut')
        or not exists (select from stepwell.tenant as t where t.tenant_id = p_unit.tenant_id and t.has_hold) then
        return;
    end if;
    return query select 'hold', jsonb_build_object('name', stepwell._unit_name(p_unit), 'reason', h.reason, 'hold', h.hold_id), 'operator'
    from stepwell._hold_of(p_unit.tenant_id, p_unit.unit_id) as h;
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
        return query select w.* from stepwell._why_ended(p_unit, v_name) as w;
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

-- How an ended unit ended. One without attempts left names what it died of; the cap on the writes of a run has its own code.
create or replace function stepwell._why_ended(p_unit stepwell.work_unit, p_name text)
returns table (code text, facts jsonb, who text)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_reason text;
begin
    if p_unit.scope in ('step', 'task', 'job') and p_unit.state_code = 'cannot_complete' then
        if (select v.reason_code from stepwell.policy_verdict as v
            where v.tenant_id = p_unit.tenant_id and v.unit_id = p_unit.unit_id order by v.verdict_id desc limit 1) = 'writes_exhausted' then
            return query select 'write_cap', jsonb_build_object('name', p_name,
                'limit', stepwell._writes_cap(p_unit.tenant_id, stepwell._run_of(p_unit.unit_id))), 'operator';
            return;
        end if;
        select rtrim(coalesce(f.error ->> 'message', f.error ->> 'type'), '.') into v_reason
        from stepwell.unit_failure as f
        where f.tenant_id = p_unit.tenant_id and f.unit_id = p_unit.unit_id
        order by f.lease_no desc, f.failed_at desc limit 1;
    end if;
    return query select 'ended', jsonb_build_object('name', p_name, 'reason', left(v_reason, 300), 'state', coalesce((
                select format('{%s}', s.ui_label_i18n_key) from stepwell.state_machine_def as m
                inner join stepwell.state_def as s on m.state_machine_id = s.state_machine_id
                where m.active and m.scope = p_unit.scope and s.state_code = p_unit.state_code), p_unit.state_code),
            'variant', case when v_reason is not null then 'dead' end),
        case when p_unit.state_code in ('failed', 'cannot_complete') then 'reviewer' else 'nobody' end;
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
        jsonb_build_object('name', p_name, 'approval', stepwell._unit_ref(a.approval_id), 'approval_id', a.approval_id, 'quorum', a.quorum, 'agreed', (
            select count(*) from stepwell.approval_vote as v
            where v.tenant_id = a.tenant_id and v.approval_id = a.approval_id and v.decision = 'approve')),
        case when a.approvers is not null then 'person:' || array_to_string(a.approvers, ', ')
            else coalesce('role:' || a.approver_role, 'reviewer') end
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
        return query select w.* from stepwell._why_timed('schedule', jsonb_build_object('name', p_name, 'at', v_due_at), v_due_at) as w;
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
        return query select w.* from stepwell._why_timed('schedule', jsonb_build_object('name', p_name, 'at', v_until), v_until) as w;
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
