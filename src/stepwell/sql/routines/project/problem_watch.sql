-- The keeper looks for what is wrong and opens problems; it closes those whose cause is gone, each with its event. Reports and
-- claims know nothing of it and pay nothing for it.

-- Opens problems for what is wrong now and is none yet, and closes those whose cause is gone. Returns how many it changed.
-- What somebody closed is not opened again for the same occurrence. A part of the look that fails is set aside, and so is a
-- problem that cannot be opened or closed; the rest is done.
-- Locks: rows of problems and of their counts.
-- Idempotency: a problem is opened and closed once.
-- Raises: what is not the fault of a row.
create or replace function stepwell.fn_problems_watch(p_limit int default 500) returns int
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_limit constant int := least(p_limit, 1000);
    v_aside constant text[] := stepwell._asides('problems', v_now);
    v_parts constant text[] := array(select q from unnest(array['dead_letter', 'silent_worker', 'overdue_step', 'schema_violation',
        'event_lag', 'integrity_warning']) as q where not '1:' || q = any (v_aside));
    v_opened int;
    v_closed int;
begin
    begin
        v_opened := stepwell._watch_open(v_parts, v_aside, v_limit);
    exception when others then
        if not stepwell._is_fault_of_row(sqlstate) then
            raise;
        end if;
        v_opened := stepwell._watch_open_each(v_parts, v_aside, v_limit);
    end;
    if v_opened < v_limit then
        -- A part that was not seen to its end keeps its place.
        update stepwell.governance_watch as w set seen_at = stepwell.now()
        where w.watch_name in ('overdue_step', 'schema_violation', 'integrity_warning')
            and (w.seen_at is null or w.seen_at < stepwell.now() - interval '1 minute')
            and not exists (select from stepwell.governance_problem as p
                where p.category_code = 'set_aside' and p.duty = 'problems' and p.closed_at is null
                    and split_part(p.subject, ':', 1) = w.watch_name);
    end if;
    v_opened := v_opened + stepwell._watch_orphans(v_aside);
    begin
        v_closed := stepwell._watch_close(v_aside, null, v_limit);
    exception when others then
        if not stepwell._is_fault_of_row(sqlstate) then
            raise;
        end if;
        v_closed := stepwell._watch_close_each(v_aside, v_limit);
    end;
    if v_opened < v_limit and v_closed < v_limit then
        v_closed := v_closed + stepwell._watch_goes_on(v_now);
    end if;
    return v_opened + v_closed;
end
$$;

-- Opens the problems that these parts of the look find, without those that were set aside. Returns how many.
create or replace function stepwell._watch_open(p_parts text[], p_aside text[], p_limit int) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_found record;
    v_count int := 0;
begin
    for v_found in select w.* from stepwell._watch_new(p_parts, p_aside, p_limit) as w loop
        perform stepwell._watch_open_one(v_found.tenant_id, v_found.category_code, v_found.subject, v_found.title, v_found.unit_id,
            v_found.reason, v_found.since_at);
        v_count := v_count + 1;
    end loop;
    return v_count;
end
$$;

-- The same part by part and row by row, after all at once failed: what fails again is set aside.
create or replace function stepwell._watch_open_each(p_parts text[], p_aside text[], p_limit int) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_part text;
    v_found record;
    v_count int := 0;
begin
    foreach v_part in array p_parts loop
        begin
            for v_found in select w.* from stepwell._watch_new(array[v_part], p_aside, p_limit - v_count) as w loop
                begin
                    perform stepwell._watch_open_one(v_found.tenant_id, v_found.category_code, v_found.subject, v_found.title,
                        v_found.unit_id, v_found.reason, v_found.since_at);
                    v_count := v_count + 1;
                exception when others then
                    perform stepwell._watch_set_aside(v_found.tenant_id, v_part || ':' || v_found.subject, sqlstate, sqlerrm);
                end;
            end loop;
        exception when others then
            perform stepwell._watch_set_aside(1, v_part, sqlstate, sqlerrm);
        end;
    end loop;
    return v_count;
end
$$;

-- Opens one problem, with the event that its category has beside it.
create or replace function stepwell._watch_open_one(
    p_tenant_id int, p_category text, p_subject text, p_title text, p_unit_id bigint, p_reason text, p_since_at timestamptz
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._problem_found(p_tenant_id, p_category, p_subject, p_title, p_unit_id, p_reason, p_since_at);
    if p_category = 'event_lag' then
        perform stepwell._event_append(p_tenant_id, 0, 'event_lag.breached', 'keeper', jsonb_build_object('reader', p_subject));
    elsif p_category = 'integrity_warning' then
        perform stepwell._event_append(p_tenant_id, coalesce(p_unit_id, 0), 'integrity_warning.raised', 'keeper',
            jsonb_build_object('subject', p_subject, 'reason', p_reason));
    end if;
end
$$;

-- Sets aside a part of the look, a problem that cannot be opened (category:subject) or one that cannot be closed.
-- Raises: what is not the fault of a row.
create or replace function stepwell._watch_set_aside(p_tenant_id int, p_subject text, p_error_code text, p_reason text) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    if not stepwell._is_fault_of_row(p_error_code) then
        raise exception using errcode = p_error_code, message = p_reason;
    end if;
    perform stepwell._problem_open(p_tenant_id, 'set_aside', 'problems', p_subject, null, p_error_code, p_reason);
end
$$;

-- Closes what this look could try again and did not meet again: whoever met it has moved its time.
create or replace function stepwell._watch_goes_on(p_now timestamptz) returns int
language sql volatile
set search_path = stepwell, pg_temp
as $$
    select count(*) filter (where stepwell._problem_close(p.tenant_id, p.problem_id, 'keeper', 'it goes on'))::int
    from stepwell.governance_problem as p
    where p.category_code = 'set_aside' and p.duty = 'problems' and p.closed_at is null and p.retry_at <= p_now
$$;

-- Since when the watch of a name must look: ten minutes before its last look, because a transaction may commit late. An hour of
-- the year 1970 before the first one.
create or replace function stepwell._watch_since(p_name text) returns timestamptz
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce((select w.seen_at - interval '10 minutes' from stepwell.governance_watch as w where w.watch_name = p_name), 'epoch'::timestamptz)
$$;

-- What these parts of the look find that is no problem yet and was not set aside.
create or replace function stepwell._watch_new(p_parts text[], p_aside text[], p_limit int)
returns table (tenant_id int, category_code text, subject text, title text, unit_id bigint, reason text, since_at timestamptz)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select w.tenant_id, w.category_code, w.subject, w.title, w.unit_id, w.reason, w.since_at from stepwell._watch_found(p_parts) as w
    where not exists (select from stepwell.governance_problem as p
            where p.tenant_id = w.tenant_id and p.category_code = w.category_code and p.subject = w.subject
                and (p.closed_at is null or p.opened_at >= w.since_at))
        and (p_aside = '{}' or not concat_ws(':', w.tenant_id, w.category_code, w.subject) = any (p_aside))
    limit p_limit
$$;

-- What is wrong now, in the form of problems. Each part reads an index of what is open, or of what came since the last look.
create or replace function stepwell._watch_found(p_parts text[])
returns table (tenant_id int, category_code text, subject text, title text, unit_id bigint, since_at timestamptz, reason text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select d.tenant_id, 'dead_letter', d.unit_id::text, stepwell._unit_name(u), d.unit_id, d.died_at,
        concat_ws(': ', d.failure_class, coalesce(d.error ->> 'message', d.error ->> 'type'))
    from (
        -- There may be thousands that are problems already. The two lists are compared as a whole: a join for young tables would
        -- read all problems for each dead letter.
        select l.tenant_id, l.unit_id from stepwell.job_dead_letter as l where l.resolved_at is null
        except
        select p.tenant_id, p.unit_id from stepwell.governance_problem as p where p.category_code = 'dead_letter' and p.closed_at is null
    ) as n
    cross join lateral (
        select l.* from stepwell.job_dead_letter as l
        where l.tenant_id = n.tenant_id and l.unit_id = n.unit_id order by l.resolved_at is not null, l.died_at desc limit 1
    ) as d
    cross join lateral (
        select w.* from stepwell.work_unit as w where w.tenant_id = n.tenant_id and w.unit_id = n.unit_id offset 0
    ) as u
    where 'dead_letter' = any (p_parts)
    union all
    select v.tenant_id, v.category_code, v.subject_key, v.subject, null, v.since_at, v.reason
    from stepwell.vw_governance_silent_workers as v where v.tenant_id = 1 and 'silent_worker' = any (p_parts)
    union all
    select u.tenant_id, 'overdue_step', u.unit_id::text, stepwell._unit_name(u), u.unit_id, u.deadline_at,
        concat_ws(', ', u.state_code, stepwell._person_name(u.tenant_id, u.pic_id))
    from (
        select m.tenant_id, m.unit_id
        from stepwell.tenant as t
        inner join stepwell.work_unit as m on t.tenant_id = m.tenant_id and m.overdue_first_at > stepwell._watch_since('overdue_step')
        union
        -- A timer that is due and has not fired.
        select d.tenant_id, d.unit_id from stepwell.timer as d where d.timer_kind = 'deadline' and d.due_at < stepwell.now()
    ) as q
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where 'overdue_step' = any (p_parts) and u.scope = 'step' and u.deadline_at <= stepwell.now() and not stepwell._has_ended(u.state_code)
    union all
    -- Rejects of one type of events are one problem; it names who sent the newest.
    select a.tenant_id, 'schema_violation', a.event_type, a.event_type, (array_agg(u.unit_id order by a.rejected_at desc))[1],
        max(coalesce(a.last_at, a.rejected_at)), (array_agg(array_to_string(a.problems, '; ') order by a.rejected_at desc))[1]
    from stepwell.tenant as t
    inner join stepwell.event_validation_audit as a on t.tenant_id = a.tenant_id and a.rejected_at > stepwell._watch_since('schema_violation') - interval '1 hour'
    left join stepwell.work_unit as u on a.tenant_id = u.tenant_id and a.unit_id = u.unit_id
    where 'schema_violation' = any (p_parts) and coalesce(a.last_at, a.rejected_at) > stepwell._watch_since('schema_violation')
    group by a.tenant_id, a.event_type
    union all
    select v.tenant_id, v.category_code, v.subject_key, v.subject, null, v.since_at, v.reason
    from stepwell.vw_governance_event_lag as v where 'event_lag' = any (p_parts)
    union all
    select v.tenant_id, v.category_code, 'content:' || v.subject_key, v.subject, v.unit_id, v.since_at, v.reason
    from stepwell.vw_governance_integrity_warnings as v
    where 'integrity_warning' = any (p_parts) and v.since_at > stepwell._watch_since('integrity_warning')
    union all
    -- A problem that turned green without its event: the trigger refuses it, so somebody went around the trigger.
    select p.tenant_id, 'integrity_warning', 'problem:' || p.problem_id, coalesce(p.title, p.subject), p.unit_id, p.closed_at,
        format('problem %s (%s) was closed without an event that resolves it', p.problem_id, p.category_code)
    from stepwell.governance_problem as p
    where 'integrity_warning' = any (p_parts) and p.closed_at > stepwell._watch_since('integrity_warning') and not stepwell._event_resolves(p)
$$;

-- Whether the log has the event that resolved this problem.
create or replace function stepwell._event_resolves(p_problem stepwell.governance_problem) returns boolean
language sql stable
set search_path = stepwell, pg_temp
as $$
    select exists (select from stepwell.event_log as e
        where e.tenant_id = p_problem.tenant_id and e.run_id = stepwell._run_of(coalesce(p_problem.unit_id, 0))
            and e.event_id = p_problem.closed_event_id and e.event_type = 'problem.resolved'
            and (e.payload ->> 'problem_id')::bigint = p_problem.problem_id)
$$;

-- Asks the next open runs whether anything can still move them; one that nothing can is an orphan. A few runs each time, and none
-- that is younger than a minute. A run that cannot be asked is set aside.
-- Locks: the row of the watch, then problems.
create or replace function stepwell._watch_orphans(p_aside text[]) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_limit constant int := stepwell._limit('problem.orphan_runs');
    v_place bigint;
    v_seen int := 0;
    v_count int := 0;
    v_run record;
begin
    select w.place into v_place from stepwell.governance_watch as w where w.watch_name = 'orphan_workflow' for update;
    for v_run in
        select r.tenant_id, r.run_id
        from stepwell.tenant as t
        cross join lateral (
            select d.tenant_id, d.run_id from stepwell.run_detail as d
            where d.tenant_id = t.tenant_id and d.finished_at is null and d.run_id > v_place
                and d.created_at < stepwell.now() - interval '1 minute'
            order by d.run_id limit v_limit
        ) as r
        order by r.run_id limit v_limit
    loop
        v_seen := v_seen + 1;
        v_place := v_run.run_id;
        continue when v_run.tenant_id || ':orphan_workflow:' || v_run.run_id = any (p_aside);
        begin
            v_count := v_count + stepwell._watch_orphan(v_run.tenant_id, v_run.run_id)::int;
        exception when others then
            perform stepwell._watch_set_aside(v_run.tenant_id, 'orphan_workflow:' || v_run.run_id, sqlstate, sqlerrm);
        end;
    end loop;
    update stepwell.governance_watch as w set place = case when v_seen < v_limit then 0 else v_place end
    where w.watch_name = 'orphan_workflow' and w.place <> case when v_seen < v_limit then 0 else v_place end;
    return v_count;
end
$$;

-- Opens the problem of a run that nothing can move, unless it has one. Returns whether it did.
create or replace function stepwell._watch_orphan(p_tenant_id int, p_run_id bigint) returns boolean
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    if not stepwell._run_is_orphan(p_tenant_id, p_run_id) or exists (select from stepwell.governance_problem as p
        where p.tenant_id = p_tenant_id and p.category_code = 'orphan_workflow' and p.subject = p_run_id::text
            and (p.closed_at is null or p.closed_at > stepwell.now() - interval '1 hour')) then
        return false;
    end if;
    perform stepwell._problem_found(p_tenant_id, 'orphan_workflow', p_run_id::text,
        stepwell._title_of(p_tenant_id, stepwell._run_unit(p_run_id)), stepwell._run_unit(p_run_id),
        (select w.sentence_en from stepwell.fn_why_not_running(stepwell._run_unit(p_run_id), p_tenant_id) as w),
        (select max(u.last_transition_at) from stepwell.work_unit as u where u.tenant_id = p_tenant_id
            and u.unit_id between stepwell._run_unit(p_run_id) and stepwell._run_last(p_run_id)));
    return true;
end
$$;

-- Whether nothing is left that could move an open run: no reason is known why it does not run.
create or replace function stepwell._run_is_orphan(p_tenant_id int, p_run_id bigint) returns boolean
language sql stable
set search_path = stepwell, pg_temp
as $$
    select w.code = 'unexplained' and not exists (select from stepwell.job_held as j
        where j.tenant_id = p_tenant_id and j.unit_id between stepwell._run_unit(p_run_id) + 1 and stepwell._run_last(p_run_id))
    from stepwell.fn_why_not_running(stepwell._run_unit(p_run_id), p_tenant_id) as w
$$;

-- Closes the problems whose cause is gone, with the event that says so: all but those that were set aside, or one. Returns how
-- many.
create or replace function stepwell._watch_close(p_aside text[], p_problem_id bigint, p_limit int) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_settled record;
    v_count int := 0;
begin
    for v_settled in
        select p.tenant_id, p.problem_id, p.category_code, p.subject, p.unit_id, c.reason
        from stepwell.governance_problem as p
        left join stepwell.work_unit as u on p.tenant_id = u.tenant_id and p.unit_id = u.unit_id
        cross join lateral (select case when p_aside <> '{}' and concat_ws(':', p.tenant_id, 'close', p.problem_id) = any (p_aside) then null
            else case p.category_code
            -- Asked so that the index of all open dead letters is no way to answer: it would be read for each problem.
            when 'dead_letter' then case when (select bool_or(d.resolved_at is null) from stepwell.job_dead_letter as d
                where d.tenant_id = p.tenant_id and d.unit_id = p.unit_id) is not true then 'it was replayed or removed' end
            when 'silent_worker' then stepwell._worker_answers(p.subject, p.title, p.opened_at)
            when 'overdue_step' then case when u.unit_id is null or stepwell._has_ended(u.state_code) then 'it ended'
                when u.deadline_at is null or u.deadline_at > stepwell.now() then 'its deadline was changed' end
            when 'event_lag' then case when not exists (select from stepwell.vw_governance_event_lag as v
                where v.tenant_id = p.tenant_id and v.subject_key = p.subject) then 'the reader caught up' end
            when 'orphan_workflow' then case when u.unit_id is null or stepwell._run_has_ended(u.state_code)
                or not stepwell._run_is_orphan(p.tenant_id, stepwell._run_of(p.unit_id)) then 'the run goes on or ended' end
            end end) as c (reason)
        where p.closed_at is null and p.duty = 'watch' and (p_problem_id is null or p.problem_id = p_problem_id) and c.reason is not null
        order by p.tenant_id, p.problem_id
        limit p_limit
    loop
        if v_settled.category_code = 'silent_worker' then
            perform stepwell._event_append(v_settled.tenant_id, 0, 'worker.recovered', 'keeper',
                jsonb_build_object('worker', v_settled.subject, 'reason', v_settled.reason));
        elsif v_settled.category_code = 'event_lag' then
            perform stepwell._event_append(v_settled.tenant_id, 0, 'event_lag.healed', 'keeper', jsonb_build_object('reader', v_settled.subject));
        end if;
        v_count := v_count + stepwell._problem_close(v_settled.tenant_id, v_settled.problem_id, 'keeper', v_settled.reason)::int;
    end loop;
    return v_count;
end
$$;

-- The same one by one, after all at once failed: what fails again is set aside.
create or replace function stepwell._watch_close_each(p_aside text[], p_limit int) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_open record;
    v_count int := 0;
begin
    for v_open in
        select p.tenant_id, p.problem_id from stepwell.governance_problem as p
        where p.closed_at is null and p.duty = 'watch' order by p.tenant_id, p.problem_id
    loop
        exit when v_count >= p_limit;
        begin
            v_count := v_count + stepwell._watch_close(p_aside, v_open.problem_id, 1);
        exception when others then
            perform stepwell._watch_set_aside(v_open.tenant_id, 'close:' || v_open.problem_id, sqlstate, sqlerrm);
        end;
    end loop;
    return v_count;
end
$$;

-- Why a silent worker is no problem any more: it did a good tick after it fell silent, or another worker did that serves its class
-- and may claim. Null while nobody did, and while the worker or its class is frozen. To register is no tick: a worker that ends as
-- often as it starts serves nothing. p_subject is session:class.
create or replace function stepwell._worker_answers(p_subject text, p_worker_name text, p_opened_at timestamptz) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select case when h.session_id::text = split_part(p_subject, ':', 1) then 'the worker answers again'
        else format('worker %s serves the class %s', h.worker_name, h.executor_kind) end
    from stepwell.queue_heartbeat as h
    where h.status = 'alive' and h.last_ok_at > p_opened_at and h.executor_kind = split_part(p_subject, ':', 2) and not h.is_frozen
        and (not h.is_draining or h.session_id::text = split_part(p_subject, ':', 1))
        and not exists (select from stepwell.worker_stop as w where w.stop_kind = 'frozen' and w.worker_name = p_worker_name)
    order by h.session_id::text <> split_part(p_subject, ':', 1), h.last_ok_at desc
    limit 1
$$;
