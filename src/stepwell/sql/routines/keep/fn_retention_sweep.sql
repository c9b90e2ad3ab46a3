-- Purpose: removes what is older than its retention (dot_config retention.*): ended runs and jobs with everything that
--   hangs on them, remembered verdicts, taken events from outside, rejected events, closed sessions, settled dead
--   letters, replays and receipts, whole months of the log. Bounded: the next sweep goes on. Says how much of each it removed.
-- Locks: the runs it removes (skipping those in use); event_log exclusively, last and briefly, when a month goes.
-- Idempotency: a second sweep finds nothing.
-- Raises: nothing.
create or replace function stepwell.fn_retention_sweep(p_limit int default null)
returns table (swept text, removed_count bigint)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := stepwell.now();
    v_limit constant int := least(coalesce(p_limit, 1000000), stepwell._limit('limits.retention_batch'));
begin
    return query select 'runs'::text, stepwell._retention_runs(v_now, v_limit);
    return query select 'jobs'::text, stepwell._retention_jobs(v_now, v_limit);
    return query select 'dead_letters'::text, stepwell._retention_letters(v_now, v_limit);
    return query select 'replays'::text, stepwell._retention_replays(v_now, v_limit);
    return query select 'receipts'::text, stepwell._retention_receipts(v_now, v_limit);
    return query
    with gone as (
        delete from stepwell.transition_idempotency as x
        where x.ctid = any (array(
            select i.ctid from stepwell.transition_idempotency as i
            where i.decided_at < v_now - make_interval(days => stepwell._limit('retention.transition_idempotency_days'))
            order by i.decided_at limit v_limit))
        returning 1
    )
    select 'transition_idempotency'::text, count(*) from gone;
    return query
    with gone as (
        delete from stepwell.event_inbox as x
        where x.ctid = any (array(
            select i.ctid from stepwell.event_inbox as i
            where i.received_at < v_now - make_interval(days => stepwell._limit('retention.event_inbox_days'))
                and (i.taken_by is not null or not exists (
                    select from stepwell.work_unit as u
                    where u.tenant_id = i.tenant_id and u.unit_id = i.stream_id << 20 and u.completed_at is null))
            limit v_limit))
        returning 1
    )
    select 'event_inbox'::text, count(*) from gone;
    return query
    with gone as (
        delete from stepwell.event_validation_audit as x
        where x.ctid = any (array(
            select i.ctid from stepwell.event_validation_audit as i
            where i.rejected_at < v_now - make_interval(days => stepwell._limit('retention.event_validation_audit_days'))
            limit v_limit))
        returning 1
    )
    select 'event_validation_audit'::text, count(*) from gone;
    return query
    with gone as (
        delete from stepwell.worker_session as x
        where x.session_id = any (array(
            select s.session_id from stepwell.worker_session as s
            where s.closed_at < v_now - make_interval(days => stepwell._limit('retention.worker_session_days'))
            limit v_limit))
        returning 1
    )
    select 'worker_session'::text, count(*) from gone;
    return query select 'event_log_months'::text, stepwell._retention_months(v_now);
end
$$;
