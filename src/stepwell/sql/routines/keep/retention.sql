-- Removes what is older than its retention. Each sweep removes a limited amount; the next sweep continues.

-- Removes what is older than its retention (dot_config retention.*): ended runs and jobs with all their rows, stored
-- answers of repeated calls, events from outside that were taken, rejected events, closed sessions, settled dead
-- letters, replay requests and receipts, stored bundles, answers to HTTP requests, concurrency keys without jobs,
-- whole months of the log. A part that fails is set aside, and so is a run, job, receipt or approval that cannot be
-- removed; the rest is removed. Returns how much of each it removed.
-- Locks: the runs it removes (without those in use); event_log exclusively, last and briefly, when a month is
--   dropped. A part that meets a locked row waits for the next sweep.
-- Idempotency: a second sweep finds nothing.
-- Raises: what is not the fault of a row.
create or replace function stepwell.fn_retention_sweep(p_limit int default null)
returns table (swept text, removed_count bigint)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := stepwell.now();
    v_limit constant int := least(coalesce(p_limit, 1000000), stepwell._limit('limits.retention_batch'));
    v_part text;
begin
    foreach v_part in array array['runs', 'jobs', 'dead_letters', 'replays', 'receipts', 'evidence_file', 'http_answer',
        'slots', 'transition_idempotency', 'event_inbox', 'event_validation_audit', 'worker_session', 'governance_problem', 'governance_summary',
        'event_log_months'] loop
        return query select v_part, stepwell._retention_try(v_part, v_now, v_limit);
    end loop;
end
$$;

-- Removes one part, and closes its problem. A part that fails is set aside until the problem may be tried again.
-- Raises: what is not the fault of a row.
create or replace function stepwell._retention_try(p_part text, p_now timestamptz, p_limit int) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_count bigint;
begin
    if stepwell._is_set_aside(1, 'retention', p_part, p_now) then
        return 0::bigint;
    end if;
    v_count := stepwell._retention_part(p_part, p_now, p_limit);
    perform stepwell._problem_close(p.tenant_id, p.problem_id, 'keeper', 'it goes on')
    from stepwell.governance_problem as p
    where p.tenant_id = 1 and p.category_code = 'set_aside' and p.duty = 'retention' and p.subject = p_part and p.closed_at is null;
    return v_count;
exception
    when lock_not_available then
        return 0::bigint;
    when others then
        if not stepwell._is_fault_of_row(sqlstate) then
            raise;
        end if;
        perform stepwell._problem_open(1, 'set_aside', 'retention', p_part, null, sqlstate, sqlerrm);
        return 0::bigint;
end
$$;

-- Removes one part, at most so many of its rows.
create or replace function stepwell._retention_part(p_part text, p_now timestamptz, p_limit int) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    case p_part
        when 'runs' then
            return stepwell._retention_runs(p_now, p_limit);
        when 'jobs' then
            return stepwell._retention_jobs(p_now, p_limit);
        when 'dead_letters' then
            return stepwell._retention_letters(p_now, p_limit);
        when 'replays' then
            return stepwell._retention_replays(p_now, p_limit);
        when 'receipts' then
            return stepwell._retention_receipts(p_now, p_limit);
        when 'evidence_file' then
            return stepwell._retention_bundles(p_now, p_limit);
        when 'http_answer' then
            return stepwell._retention_answers(p_now, p_limit);
        when 'slots' then
            return stepwell._retention_slots(p_limit);
        when 'event_log_months' then
            return stepwell._retention_months(p_now);
        else
            return stepwell._retention_rows(p_part, p_now, p_limit);
    end case;
end
$$;

-- Removes the rows of a part that is one table.
create or replace function stepwell._retention_rows(p_part text, p_now timestamptz, p_limit int) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_count bigint;
begin
    case p_part
        when 'transition_idempotency' then
            with gone as (
                delete from stepwell.transition_idempotency as x
                where x.ctid = any (array(
                    select i.ctid from stepwell.transition_idempotency as i
                    where i.decided_at < p_now - make_interval(days => stepwell._limit('retention.transition_idempotency_days'))
                    order by i.decided_at limit p_limit))
                returning 1
            )
            select count(*) into v_count from gone;
        when 'event_inbox' then
            with gone as (
                delete from stepwell.event_inbox as x
                where x.ctid = any (array(
                    select i.ctid from stepwell.event_inbox as i
                    where i.received_at < p_now - make_interval(days => stepwell._limit('retention.event_inbox_days'))
                        and (i.taken_by is not null or not exists (
                            select from stepwell.work_unit as u
                            where u.tenant_id = i.tenant_id and u.unit_id = stepwell._run_unit(i.run_id) and u.completed_at is null))
                    limit p_limit))
                returning 1
            )
            select count(*) into v_count from gone;
        when 'event_validation_audit' then
            with gone as (
                delete from stepwell.event_validation_audit as x
                where x.ctid = any (array(
                    select i.ctid from stepwell.event_validation_audit as i
                    where i.rejected_at < p_now - make_interval(days => stepwell._limit('retention.event_validation_audit_days'))
                    limit p_limit))
                returning 1
            )
            select count(*) into v_count from gone;
        when 'worker_session' then
            with gone as (
                delete from stepwell.worker_session as x
                where x.session_id = any (array(
                    select s.session_id from stepwell.worker_session as s
                    where s.closed_at < p_now - make_interval(days => stepwell._limit('retention.worker_session_days'))
                    limit p_limit))
                returning 1
            )
            select count(*) into v_count from gone;
            perform stepwell._worker_stops_forget();
        when 'governance_summary' then
            v_count := stepwell._summaries_forget(p_now, p_limit);
        when 'governance_problem' then
            with gone as (
                delete from stepwell.governance_problem as x
                where x.ctid = any (array(
                    select p.ctid from stepwell.governance_problem as p
                    where p.closed_at < p_now - make_interval(days => stepwell._limit('retention.governance_problem_days'))
                    limit p_limit))
                returning 1
            )
            select count(*) into v_count from gone;
            delete from stepwell.governance_trend as h
            where h.hour_at < p_now - make_interval(days => stepwell._limit('retention.governance_trend_days'));
            delete from stepwell.event_lag_count as x
            where x.ctid = any (array(
                select c.ctid from stepwell.event_lag_count as c
                where c.slot_at < p_now - make_interval(days => stepwell._limit('retention.event_lag_days'))
                order by c.slot_at limit p_limit));
    end case;
    return v_count;
end
$$;

-- Removes bundles that the database stores. They stay longer than their runs and the log.
create or replace function stepwell._retention_bundles(p_now timestamptz, p_limit int) returns bigint
language sql volatile
set search_path = stepwell, pg_temp
as $$
    with gone as (
        delete from stepwell.evidence_file as x
        where x.ctid = any (array(
            select f.ctid from stepwell.evidence_file as f
            where f.stored_at < p_now - make_interval(days => stepwell._limit('retention.evidence_file_days'))
            order by f.stored_at limit p_limit))
        returning 1
    )
    select count(*) from gone
$$;

-- Removes the answers to HTTP requests that nobody repeats any more.
create or replace function stepwell._retention_answers(p_now timestamptz, p_limit int) returns bigint
language sql volatile
set search_path = stepwell, pg_temp
as $$
    with gone as (
        delete from stepwell.http_answer as x
        where x.ctid = any (array(
            select a.ctid from stepwell.http_answer as a
            where a.made_at < p_now - make_interval(hours => stepwell._limit('retention.http_answer_hours'))
            order by a.made_at limit p_limit))
        returning 1
    )
    select count(*) from gone
$$;

-- Removes dead letters that were settled, or whose unit was removed.
-- Locks: their rows.
create or replace function stepwell._retention_letters(p_now timestamptz, p_limit int) returns bigint
language sql volatile
set search_path = stepwell, pg_temp
as $$
    with gone as (
        delete from stepwell.job_dead_letter as x
        where x.ctid = any (array(
            select d.ctid from stepwell.job_dead_letter as d
            where coalesce(d.resolved_at, d.died_at)
                    < p_now - make_interval(days => stepwell._limit('retention.dead_letter_days'))
                and (d.resolved_at is not null or not exists (
                    select from stepwell.work_unit as u where u.tenant_id = d.tenant_id and u.unit_id = d.unit_id))
            limit p_limit))
        returning 1
    )
    select count(*) from gone
$$;

-- Removes the concurrency keys of which no job is left. While one is left, whatever its state, its key keeps its limit.
-- Locks: the slots, without those that are in use.
create or replace function stepwell._retention_slots(p_limit int) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_count bigint;
begin
    with unused as (
        select s.tenant_id, s.slot_key
        from stepwell.concurrency_slot as s
        where s.slot_key like 'key:%' and s.used_count = 0
            and not exists (select from stepwell.work_unit as u
                where u.tenant_id = s.tenant_id and u.slot_key = s.slot_key and u.slot_key like 'key:%')
            and not exists (select from stepwell.rate_token as t where t.tenant_id = s.tenant_id and t.slot_key = s.slot_key)
        limit p_limit
        for update skip locked
    ), gone as (
        delete from stepwell.concurrency_slot as s
        using unused as u
        where s.tenant_id = u.tenant_id and s.slot_key = u.slot_key
        returning 1
    )
    select count(*) into v_count from gone;
    return v_count;
end
$$;

-- Removes sentences that nobody wrote again. Returns how many.
create or replace function stepwell._summaries_forget(p_now timestamptz, p_limit int) returns bigint
language sql volatile
set search_path = stepwell, pg_temp
as $$
    with gone as (
        delete from stepwell.governance_summary as x
        where x.ctid = any (array(
            select y.ctid from stepwell.governance_summary as y
            where y.written_at < p_now - make_interval(days => stepwell._limit('retention.summary_days'))
            limit p_limit))
        returning 1
    )
    select count(*) from gone
$$;

-- Removes the stops of workers that are gone: those need none, unless their silence is still a problem.
create or replace function stepwell._worker_stops_forget() returns void
language sql volatile
set search_path = stepwell, pg_temp
as $$
    delete from stepwell.worker_stop as w
    where w.worker_name is not null
        and not exists (select from stepwell.worker_session as s where s.worker_name = w.worker_name)
        and not exists (select from stepwell.governance_problem as p
            where p.tenant_id = 1 and p.category_code = 'silent_worker' and p.closed_at is null and p.title = w.worker_name)
$$;
