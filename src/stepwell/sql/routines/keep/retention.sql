-- Removes what is older than its retention. Each sweep removes a limited amount; the next sweep continues.

-- Removes what is older than its retention (dot_config retention.*): ended runs and jobs with all their rows, stored
-- answers of repeated calls, events from outside that were taken, rejected events, closed sessions, settled dead
-- letters, replay requests and receipts, stored bundles, answers to HTTP requests, concurrency keys without jobs,
-- whole months of the log. Returns how much of each it removed.
-- Locks: the runs it removes (without those in use); event_log exclusively, last and briefly, when a month is
--   dropped.
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
    return query select 'evidence_file'::text, stepwell._retention_bundles(v_now, v_limit);
    return query select 'http_answer'::text, stepwell._retention_answers(v_now, v_limit);
    return query select 'slots'::text, stepwell._retention_slots(v_limit);
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
                    where u.tenant_id = i.tenant_id and u.unit_id = stepwell._run_unit(i.run_id) and u.completed_at is null))
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
    return query
    with gone as (
        delete from stepwell.governance_problem as x
        where x.ctid = any (array(
            select p.ctid from stepwell.governance_problem as p
            where p.closed_at < v_now - make_interval(days => stepwell._limit('retention.governance_problem_days'))
            limit v_limit))
        returning 1
    )
    select 'governance_problem'::text, count(*) from gone;
    delete from stepwell.governance_trend as h
    where h.hour_at < v_now - make_interval(days => stepwell._limit('retention.governance_trend_days'));
    return query select 'event_log_months'::text, stepwell._retention_months(v_now);
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

-- Removes ended runs. A run with a dead letter that nobody settled stays longer, and so does a run inside a run that
-- stays.
-- Locks: run_progress of the runs it removes, without those in use.
create or replace function stepwell._retention_runs(p_now timestamptz, p_limit int) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_cutoff constant timestamptz := p_now - make_interval(days => stepwell._limit('retention.run_days'));
    v_letter_cutoff constant timestamptz := p_now - make_interval(days => stepwell._limit('retention.dead_letter_days'));
    v_tenant_ids int[];
    v_run_ids bigint[];
begin
    select array_agg(x.tenant_id), array_agg(x.run_id)
    into v_tenant_ids, v_run_ids
    from (
        select p.tenant_id, p.run_id
        from stepwell.run_detail as r
        inner join stepwell.run_progress as p on r.tenant_id = p.tenant_id and r.run_id = p.run_id
        where r.finished_at < v_cutoff
            and not exists (select from stepwell.run_detail as b
                where b.tenant_id = r.tenant_id and b.run_id = stepwell._run_of(r.parent_unit_id)
                    and (b.finished_at is null or b.finished_at >= v_cutoff))
            and not exists (select from stepwell.job_dead_letter as d
                where d.tenant_id = r.tenant_id and d.unit_id between stepwell._run_unit(r.run_id) and stepwell._run_last(r.run_id)
                    and d.resolved_at is null and d.died_at >= v_letter_cutoff)
        order by r.tenant_id, r.run_id
        limit p_limit
        for update of p skip locked
    ) as x;
    if v_run_ids is null then
        return 0::bigint;
    end if;
    perform stepwell._units_delete(v_tenant_ids, v_run_ids);
    perform stepwell._removal_tell(v_tenant_ids, v_run_ids, v_cutoff);
    -- The limits of groups and Maps belong to their run: run:<id>:…
    delete from stepwell.concurrency_slot as s
    using unnest(v_tenant_ids, v_run_ids) as q (tenant_id, run_id)
    where s.tenant_id = q.tenant_id and s.slot_key like 'run:%' and split_part(s.slot_key, ':', 2) = q.run_id::text;
    -- A run without its rows gets no bundle any more.
    delete from stepwell.evidence_due as d using unnest(v_tenant_ids, v_run_ids) as q (tenant_id, run_id)
    where d.tenant_id = q.tenant_id and d.run_id = q.run_id;
    delete from stepwell.step_content_pin as c using unnest(v_tenant_ids, v_run_ids) as q (tenant_id, run_id)
    where c.tenant_id = q.tenant_id and c.run_id = q.run_id;
    delete from stepwell.run_label as l using unnest(v_tenant_ids, v_run_ids) as q (tenant_id, run_id)
    where l.tenant_id = q.tenant_id and l.run_id = q.run_id;
    delete from stepwell.job_workflow_detail as w using unnest(v_tenant_ids, v_run_ids) as q (tenant_id, run_id)
    where w.tenant_id = q.tenant_id and w.workflow_id = q.run_id;
    delete from stepwell.run_progress as p using unnest(v_tenant_ids, v_run_ids) as q (tenant_id, run_id)
    where p.tenant_id = q.tenant_id and p.run_id = q.run_id;
    delete from stepwell.run_detail as r using unnest(v_tenant_ids, v_run_ids) as q (tenant_id, run_id)
    where r.tenant_id = q.tenant_id and r.run_id = q.run_id;
    return cardinality(v_run_ids)::bigint;
end
$$;

-- Removes ended free-standing jobs; one with a dead letter that nobody settled stays longer.
-- Locks: the units it removes, without those in use.
create or replace function stepwell._retention_jobs(p_now timestamptz, p_limit int) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_cutoff constant timestamptz := p_now - make_interval(days => stepwell._limit('retention.run_days'));
    v_letter_cutoff constant timestamptz := p_now - make_interval(days => stepwell._limit('retention.dead_letter_days'));
    v_tenant_ids int[];
    v_job_ids bigint[];
    v_run_ids bigint[];
begin
    select array_agg(x.tenant_id), array_agg(x.unit_id)
    into v_tenant_ids, v_job_ids
    from (
        select u.tenant_id, u.unit_id
        from stepwell.job_detail as j
        inner join stepwell.work_unit as u on j.tenant_id = u.tenant_id and j.job_id = u.unit_id
        where j.created_at < v_cutoff and u.completed_at < v_cutoff
            and not exists (select from stepwell.job_dead_letter as d
                where d.tenant_id = u.tenant_id and d.unit_id = u.unit_id
                    and d.resolved_at is null and d.died_at >= v_letter_cutoff)
        order by u.tenant_id, u.unit_id
        limit p_limit
        for update of u skip locked
    ) as x;
    if v_job_ids is null then
        return 0::bigint;
    end if;
    v_run_ids := array(select stepwell._run_of(j) from unnest(v_job_ids) with ordinality as x (j, place) order by x.place);
    perform stepwell._units_delete(v_tenant_ids, v_run_ids);
    perform stepwell._removal_tell(v_tenant_ids, v_run_ids, v_cutoff);
    delete from stepwell.job_detail as d using unnest(v_tenant_ids, v_job_ids) as q (tenant_id, job_id)
    where d.tenant_id = q.tenant_id and d.job_id = q.job_id;
    return cardinality(v_job_ids)::bigint;
end
$$;

-- Removes settled receipts, and their keys with them. A receipt stays as long as another one refers to it.
-- Locks: their rows.
create or replace function stepwell._retention_receipts(p_now timestamptz, p_limit int) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_cutoff constant timestamptz := p_now - make_interval(days => stepwell._limit('retention.receipt_days'));
    v_gone record;
begin
    with gone as (
        delete from stepwell.action_receipt as x
        where x.ctid = any (array(
            select r.ctid from stepwell.action_receipt as r
            inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.receipt_id = u.unit_id
            where r.settled_at < v_cutoff and u.state_code in ('confirmed', 'void', 'reversed')
                and not exists (select from stepwell.action_receipt as o
                    where o.tenant_id = r.tenant_id and o.reverses_receipt_id = r.receipt_id)
                and not exists (select from stepwell.run_detail as d
                    where d.tenant_id = r.tenant_id and d.run_id = r.run_id)
                and not exists (select from stepwell.job_detail as j
                    where j.tenant_id = r.tenant_id and j.job_id = r.unit_id)
            limit p_limit))
        returning x.tenant_id, x.receipt_id
    )
    select array_agg(g.tenant_id) as tenant_ids, array_agg(stepwell._run_of(g.receipt_id)) as run_ids into v_gone from gone as g;
    if v_gone.run_ids is null then
        return 0::bigint;
    end if;
    perform stepwell._units_delete(v_gone.tenant_ids, v_gone.run_ids);
    perform stepwell._removal_tell(v_gone.tenant_ids, v_gone.run_ids, v_cutoff);
    return cardinality(v_gone.run_ids)::bigint;
end
$$;

-- Removes settled replay requests and decided approvals.
-- Locks: their rows.
create or replace function stepwell._retention_replays(p_now timestamptz, p_limit int) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_cutoff constant timestamptz := p_now - make_interval(days => stepwell._limit('retention.replay_request_days'));
    v_tenant_ids int[];
    v_ids bigint[];
    v_run_ids bigint[];
    v_plan_tenant_ids int[];
    v_plan_run_ids bigint[];
begin
    select array_agg(x.tenant_id), array_agg(x.approval_id)
    into v_tenant_ids, v_ids
    from (
        select a.tenant_id, a.approval_id
        from stepwell.approval_detail as a
        where a.decided_at < v_cutoff
        order by a.tenant_id, a.approval_id
        limit p_limit
        for update skip locked
    ) as x;
    if v_ids is null then
        return 0::bigint;
    end if;
    with gone as (
        delete from stepwell.dlq_replay_plan as p using unnest(v_tenant_ids, v_ids) as q (tenant_id, approval_id)
        where p.tenant_id = q.tenant_id and p.approval_id = q.approval_id
        returning p.tenant_id, p.plan_id
    )
    select array_agg(g.tenant_id), array_agg(stepwell._run_of(g.plan_id)) into v_plan_tenant_ids, v_plan_run_ids from gone as g;
    delete from stepwell.dlq_replay_request as r using unnest(v_tenant_ids, v_ids) as q (tenant_id, approval_id)
    where r.tenant_id = q.tenant_id and r.approval_id = q.approval_id;
    delete from stepwell.approval_vote as v using unnest(v_tenant_ids, v_ids) as q (tenant_id, approval_id)
    where v.tenant_id = q.tenant_id and v.approval_id = q.approval_id;
    delete from stepwell.approval_detail as a using unnest(v_tenant_ids, v_ids) as q (tenant_id, approval_id)
    where a.tenant_id = q.tenant_id and a.approval_id = q.approval_id;
    v_run_ids := array(select stepwell._run_of(i) from unnest(v_ids) with ordinality as x (i, place) order by x.place) || v_plan_run_ids;
    v_tenant_ids := v_tenant_ids || v_plan_tenant_ids;
    perform stepwell._units_delete(v_tenant_ids, v_run_ids);
    perform stepwell._removal_tell(v_tenant_ids, v_run_ids, v_cutoff);
    return cardinality(v_ids)::bigint;
end
$$;

-- Removes the units of whole runs or free-standing jobs, and all rows that belong to them.
-- Locks: the caller holds the runs and jobs.
create or replace function stepwell._units_delete(p_tenant_ids int[], p_run_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_table text;
begin
    -- Each of these keys begins with (tenant_id, unit_id): one range of the key is deleted for each run.
    foreach v_table in array array['unit_output', 'unit_failure', 'unit_checkpoint', 'unit_wake', 'event_wait',
        'unit_progress', 'timer', 'map_item', 'transition_idempotency', 'task_detail', 'task_comments', 'step_block', 'step_escalation',
        'step_input', 'step_run_correction_cycle', 'step_run_prior_audit', 'step_run_output_snapshot', 'policy_verdict',
        'run_write_count', 'tenant_lease', 'work_unit'] loop
        execute format(
            'delete from stepwell.%I as x using unnest($1, $2) as q (tenant_id, run_id)
             where x.tenant_id = q.tenant_id
                and x.unit_id between stepwell._run_unit(q.run_id) and stepwell._run_last(q.run_id)', v_table)
        using p_tenant_ids, p_run_ids;
    end loop;
end
$$;

-- Appends to the log of each tenant which numbers retention removed, and the time before which all of it had ended. Without
-- such an event verify reports what is gone.
-- Raises: what the log raises.
create or replace function stepwell._removal_tell(p_tenant_ids int[], p_run_ids bigint[], p_cutoff timestamptz) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    -- The event needs the partition of this month.
    perform stepwell.fn_partitions_ensure(null, 0);
    perform stepwell._event_append(x.tenant_id, 0, 'retention.removed', 'engine', jsonb_build_object(
        'numbers', jsonb_agg(jsonb_build_array(x.first_no, x.last_no) order by x.first_no),
        'count', sum(x.last_no - x.first_no + 1),
        'kept_since', to_char(p_cutoff at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')))
    from (
        select r.tenant_id, min(r.run_id) as first_no, max(r.run_id) as last_no
        from (
            select q.tenant_id, q.run_id, q.run_id - row_number() over (partition by q.tenant_id order by q.run_id) as island
            from unnest(p_tenant_ids, p_run_ids) as q (tenant_id, run_id)
        ) as r
        group by r.tenant_id, r.island
    ) as x
    group by x.tenant_id;
end
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
