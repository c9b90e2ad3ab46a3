-- What retention removes with all its rows: ended runs and jobs, settled receipts, decided approvals with their replays.
-- What cannot be removed is set aside, and the others are removed.

-- Removes ended runs. A run with a dead letter that nobody settled stays longer, and so does a run inside a run that
-- stays. A run that cannot be removed is set aside.
-- Locks: run_progress of the runs it removes, without those in use.
create or replace function stepwell._retention_runs(p_now timestamptz, p_limit int) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_cutoff constant timestamptz := p_now - make_interval(days => stepwell._limit('retention.run_days'));
    v_letter_cutoff constant timestamptz := p_now - make_interval(days => stepwell._limit('retention.dead_letter_days'));
    v_aside constant text[] := stepwell._asides('retention', p_now);
    v_old record;
begin
    select array_agg(x.tenant_id) as tenant_ids, array_agg(stepwell._run_unit(x.run_id)) as unit_ids
    into v_old
    from (
        select p.tenant_id, p.run_id
        from stepwell.run_detail as r
        inner join stepwell.run_progress as p on r.tenant_id = p.tenant_id and r.run_id = p.run_id
        where r.finished_at < v_cutoff
            and (v_aside = '{}' or not (r.tenant_id || ':' || stepwell._run_unit(r.run_id)) = any (v_aside))
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
    return stepwell._units_isolate('_runs_remove', 'retention', v_old.tenant_ids, v_old.unit_ids)::bigint;
end
$$;

-- Removes these runs, named by their units, with all their rows.
-- Locks: the caller holds the runs.
create or replace function stepwell._runs_remove(p_tenant_ids int[], p_unit_ids bigint[]) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_run_ids constant bigint[] := array(select stepwell._run_of(q.unit_id)
        from unnest(p_unit_ids) with ordinality as q (unit_id, place) order by q.place);
begin
    perform stepwell._units_delete(p_tenant_ids, v_run_ids);
    perform stepwell._removal_tell(p_tenant_ids, v_run_ids, 'retention.run_days');
    -- The limits of groups and Maps belong to their run: run:<id>:…
    delete from stepwell.concurrency_slot as s
    using unnest(p_tenant_ids, v_run_ids) as q (tenant_id, run_id)
    where s.tenant_id = q.tenant_id and s.slot_key like 'run:%' and split_part(s.slot_key, ':', 2) = q.run_id::text;
    -- A run without its rows gets no bundle any more.
    delete from stepwell.evidence_due as d using unnest(p_tenant_ids, v_run_ids) as q (tenant_id, run_id)
    where d.tenant_id = q.tenant_id and d.run_id = q.run_id;
    delete from stepwell.step_content_pin as c using unnest(p_tenant_ids, v_run_ids) as q (tenant_id, run_id)
    where c.tenant_id = q.tenant_id and c.run_id = q.run_id;
    delete from stepwell.run_label as l using unnest(p_tenant_ids, v_run_ids) as q (tenant_id, run_id)
    where l.tenant_id = q.tenant_id and l.run_id = q.run_id;
    delete from stepwell.job_workflow_detail as w using unnest(p_tenant_ids, v_run_ids) as q (tenant_id, run_id)
    where w.tenant_id = q.tenant_id and w.workflow_id = q.run_id;
    delete from stepwell.run_progress as p using unnest(p_tenant_ids, v_run_ids) as q (tenant_id, run_id)
    where p.tenant_id = q.tenant_id and p.run_id = q.run_id;
    delete from stepwell.run_detail as r using unnest(p_tenant_ids, v_run_ids) as q (tenant_id, run_id)
    where r.tenant_id = q.tenant_id and r.run_id = q.run_id;
    return cardinality(v_run_ids);
end
$$;

-- Removes ended free-standing jobs; one with a dead letter that nobody settled stays longer. A job that cannot be removed
-- is set aside.
-- Locks: the units it removes, without those in use.
create or replace function stepwell._retention_jobs(p_now timestamptz, p_limit int) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_cutoff constant timestamptz := p_now - make_interval(days => stepwell._limit('retention.run_days'));
    v_letter_cutoff constant timestamptz := p_now - make_interval(days => stepwell._limit('retention.dead_letter_days'));
    v_aside constant text[] := stepwell._asides('retention', p_now);
    v_old record;
begin
    select array_agg(x.tenant_id) as tenant_ids, array_agg(x.unit_id) as unit_ids
    into v_old
    from (
        select u.tenant_id, u.unit_id
        from stepwell.job_detail as j
        inner join stepwell.work_unit as u on j.tenant_id = u.tenant_id and j.job_id = u.unit_id
        where j.created_at < v_cutoff and u.completed_at < v_cutoff
            and (v_aside = '{}' or not (u.tenant_id || ':' || u.unit_id) = any (v_aside))
            and not exists (select from stepwell.job_dead_letter as d
                where d.tenant_id = u.tenant_id and d.unit_id = u.unit_id
                    and d.resolved_at is null and d.died_at >= v_letter_cutoff)
        order by u.tenant_id, u.unit_id
        limit p_limit
        for update of u skip locked
    ) as x;
    return stepwell._units_isolate('_jobs_remove', 'retention', v_old.tenant_ids, v_old.unit_ids)::bigint;
end
$$;

-- Removes these free-standing jobs with all their rows.
-- Locks: the caller holds the jobs.
create or replace function stepwell._jobs_remove(p_tenant_ids int[], p_job_ids bigint[]) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_run_ids constant bigint[] := array(select stepwell._run_of(q.job_id)
        from unnest(p_job_ids) with ordinality as q (job_id, place) order by q.place);
begin
    perform stepwell._units_delete(p_tenant_ids, v_run_ids);
    perform stepwell._removal_tell(p_tenant_ids, v_run_ids, 'retention.run_days');
    delete from stepwell.job_detail as d using unnest(p_tenant_ids, p_job_ids) as q (tenant_id, job_id)
    where d.tenant_id = q.tenant_id and d.job_id = q.job_id;
    return cardinality(p_job_ids);
end
$$;

-- Removes settled receipts, and their keys with them. A receipt stays as long as another one refers to it. One that
-- cannot be removed is set aside.
-- Locks: their rows, without those in use.
create or replace function stepwell._retention_receipts(p_now timestamptz, p_limit int) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_cutoff constant timestamptz := p_now - make_interval(days => stepwell._limit('retention.receipt_days'));
    v_aside constant text[] := stepwell._asides('retention', p_now);
    v_old record;
begin
    select array_agg(x.tenant_id) as tenant_ids, array_agg(x.receipt_id) as receipt_ids
    into v_old
    from (
        select r.tenant_id, r.receipt_id
        from stepwell.action_receipt as r
        inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.receipt_id = u.unit_id
        where r.settled_at < v_cutoff and u.state_code in ('confirmed', 'void', 'reversed')
            and (v_aside = '{}' or not (r.tenant_id || ':' || r.receipt_id) = any (v_aside))
            and not exists (select from stepwell.action_receipt as o
                where o.tenant_id = r.tenant_id and o.reverses_receipt_id = r.receipt_id)
            and not exists (select from stepwell.run_detail as d
                where d.tenant_id = r.tenant_id and d.run_id = r.run_id)
            and not exists (select from stepwell.job_detail as j
                where j.tenant_id = r.tenant_id and j.job_id = r.unit_id)
        limit p_limit
        for update of r skip locked
    ) as x;
    return stepwell._units_isolate('_receipts_remove', 'retention', v_old.tenant_ids, v_old.receipt_ids)::bigint;
end
$$;

-- Removes these receipts with all their rows.
-- Locks: the caller holds the receipts.
create or replace function stepwell._receipts_remove(p_tenant_ids int[], p_receipt_ids bigint[]) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_run_ids constant bigint[] := array(select stepwell._run_of(q.receipt_id)
        from unnest(p_receipt_ids) with ordinality as q (receipt_id, place) order by q.place);
begin
    delete from stepwell.action_receipt as r using unnest(p_tenant_ids, p_receipt_ids) as q (tenant_id, receipt_id)
    where r.tenant_id = q.tenant_id and r.receipt_id = q.receipt_id;
    perform stepwell._units_delete(p_tenant_ids, v_run_ids);
    perform stepwell._removal_tell(p_tenant_ids, v_run_ids, 'retention.receipt_days');
    return cardinality(p_receipt_ids);
end
$$;

-- Removes settled replay requests and decided approvals. An approval that cannot be removed is set aside.
-- Locks: their rows, without those in use.
create or replace function stepwell._retention_replays(p_now timestamptz, p_limit int) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_cutoff constant timestamptz := p_now - make_interval(days => stepwell._limit('retention.replay_request_days'));
    v_aside constant text[] := stepwell._asides('retention', p_now);
    v_old record;
begin
    select array_agg(x.tenant_id) as tenant_ids, array_agg(x.approval_id) as approval_ids
    into v_old
    from (
        select a.tenant_id, a.approval_id
        from stepwell.approval_detail as a
        where a.decided_at < v_cutoff
            and (v_aside = '{}' or not (a.tenant_id || ':' || a.approval_id) = any (v_aside))
        order by a.tenant_id, a.approval_id
        limit p_limit
        for update skip locked
    ) as x;
    return stepwell._units_isolate('_approvals_remove', 'retention', v_old.tenant_ids, v_old.approval_ids)::bigint;
end
$$;

-- Removes these approvals, with the replays and plans that they were asked for.
-- Locks: the caller holds the approvals.
create or replace function stepwell._approvals_remove(p_tenant_ids int[], p_approval_ids bigint[]) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_plans record;
    v_tenant_ids int[];
    v_run_ids bigint[];
begin
    with gone as (
        delete from stepwell.dlq_replay_plan as p using unnest(p_tenant_ids, p_approval_ids) as q (tenant_id, approval_id)
        where p.tenant_id = q.tenant_id and p.approval_id = q.approval_id
        returning p.tenant_id, p.plan_id
    )
    select array_agg(g.tenant_id) as tenant_ids, array_agg(stepwell._run_of(g.plan_id)) as run_ids into v_plans from gone as g;
    delete from stepwell.dlq_replay_request as r using unnest(p_tenant_ids, p_approval_ids) as q (tenant_id, approval_id)
    where r.tenant_id = q.tenant_id and r.approval_id = q.approval_id;
    delete from stepwell.approval_vote as v using unnest(p_tenant_ids, p_approval_ids) as q (tenant_id, approval_id)
    where v.tenant_id = q.tenant_id and v.approval_id = q.approval_id;
    delete from stepwell.approval_detail as a using unnest(p_tenant_ids, p_approval_ids) as q (tenant_id, approval_id)
    where a.tenant_id = q.tenant_id and a.approval_id = q.approval_id;
    v_run_ids := array(select stepwell._run_of(q.approval_id)
        from unnest(p_approval_ids) with ordinality as q (approval_id, place) order by q.place) || v_plans.run_ids;
    v_tenant_ids := p_tenant_ids || v_plans.tenant_ids;
    perform stepwell._units_delete(v_tenant_ids, v_run_ids);
    perform stepwell._removal_tell(v_tenant_ids, v_run_ids, 'retention.replay_request_days');
    return cardinality(p_approval_ids);
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
        'run_write_count', 'tenant_lease', 'job_held', 'incident_hold_clock', 'work_unit'] loop
        execute format(
            'delete from stepwell.%I as x using unnest($1, $2) as q (tenant_id, run_id)
             where x.tenant_id = q.tenant_id
                and x.unit_id between stepwell._run_unit(q.run_id) and stepwell._run_last(q.run_id)', v_table)
        using p_tenant_ids, p_run_ids;
    end loop;
end
$$;

-- Appends to the log of each tenant which numbers retention removed, and the time before which all of it had ended. Without
-- such an event verify reports what is gone. p_days_key names the limit that decides how long it is kept.
-- Raises: what the log raises.
create or replace function stepwell._removal_tell(p_tenant_ids int[], p_run_ids bigint[], p_days_key text) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_cutoff constant timestamptz := stepwell.now() - make_interval(days => stepwell._limit(p_days_key));
begin
    -- The event needs the partition of this month.
    perform stepwell.fn_partitions_ensure(null, 0);
    perform stepwell._event_append(x.tenant_id, 0, 'retention.removed', 'engine', jsonb_build_object(
        'numbers', jsonb_agg(jsonb_build_array(x.first_no, x.last_no) order by x.first_no),
        'count', sum(x.last_no - x.first_no + 1),
        'kept_since', to_char(v_cutoff at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')))
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
