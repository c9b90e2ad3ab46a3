-- Job workflows: their derived status, and the retry of their dead jobs. Every job that ends moves the run of its workflow in the
-- same transaction, so the status is always current; a refresh counts the jobs again and ends what should have ended.

-- The status of a job workflow from its run: how the run ended, and how many of its jobs succeeded or are dead.
create or replace function stepwell._graph_status(p_finished_state text, p_completed_count int, p_failed_count int) returns text
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select case when p_finished_state is null then 'active'
        when p_finished_state = 'completed' then 'succeeded'
        when p_finished_state = 'cancelled' then 'cancelled'
        when p_completed_count > 0 then 'partially_failed'
        when p_failed_count > 0 then 'failed'
        else 'cancelled' end
$$;

-- The status of a job workflow computed from its jobs alone, without counters and without how its run ended. A paused workflow is
-- active.
create or replace function stepwell._graph_status_computed(p_tenant_id int, p_workflow_id bigint) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select case
        when w.state_code = 'cancelled' then 'cancelled'
        when w.state_code = 'paused' or n.open_count > 0 then 'active'
        when n.done_count = n.all_count then 'succeeded'
        when n.done_count > 0 then 'partially_failed'
        when n.dead_count > 0 then 'failed'
        else 'cancelled' end
    from stepwell.work_unit as w
    cross join lateral (
        select count(*) as all_count, count(*) filter (where not stepwell._has_ended(u.state_code)) as open_count,
            count(*) filter (where u.state_code in ('completed', 'skipped')) as done_count,
            count(*) filter (where u.state_code = 'cannot_complete') as dead_count
        from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id between stepwell._run_unit(p_workflow_id) + 1 and stepwell._run_last(p_workflow_id)
            and u.scope = 'step'
    ) as n
    where w.tenant_id = p_tenant_id and w.unit_id = stepwell._run_unit(p_workflow_id)
$$;

-- Counts the jobs of a job workflow again and stores its status. A workflow whose jobs have all ended, and that has not ended with
-- them, ends now. Returns workflow_id, status, and whether the status differs from the one stored before.
-- Locks: the run with those above it.
-- Idempotency: a second call changes nothing but the time.
-- Raises: SW002 when there is no such workflow; SW007 for another tenant.
create or replace function stepwell.fn_job_workflow_refresh(p_tenant_id int, p_workflow_id bigint) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._verb_check(p_tenant_id, 'run.start');
    perform stepwell._graph_find(p_tenant_id, p_workflow_id);
    perform stepwell._runs_lock_up(array[p_tenant_id], array[stepwell._run_unit(p_workflow_id)]);
    return stepwell._graph_refresh(p_tenant_id, p_workflow_id);
end
$$;

-- Refreshes one job workflow. The caller holds the run and those above it.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._graph_refresh(p_tenant_id int, p_workflow_id bigint) returns jsonb
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_before text;
    v_status text;
begin
    if exists (select from stepwell.run_detail as r where r.tenant_id = p_tenant_id and r.run_id = p_workflow_id and r.finished_at is null)
        and stepwell._graph_status_computed(p_tenant_id, p_workflow_id) <> 'active' then
        perform stepwell._runs_settle(array[p_tenant_id], array[stepwell._run_unit(p_workflow_id)]);
    end if;
    v_status := stepwell._graph_status_computed(p_tenant_id, p_workflow_id);
    select w.status into v_before from stepwell.job_workflow_detail as w
    where w.tenant_id = p_tenant_id and w.workflow_id = p_workflow_id
    for update;
    update stepwell.job_workflow_detail as w set status = v_status, refreshed_at = stepwell.now()
    where w.tenant_id = p_tenant_id and w.workflow_id = p_workflow_id;
    return jsonb_build_object('workflow_id', p_workflow_id, 'status', v_status, 'is_changed', v_before <> v_status);
end
$$;

-- The job job_workflow_refresh: refreshes the active job workflows of its tenant that nobody has refreshed for a while, those whose
-- runs are free. A worker calls it for a job it has; the lease is the fence. Returns how many it refreshed and how many changed.
-- Locks: the runs that are free, with those above them; at most 200.
-- Idempotency: what was refreshed just now is not due.
-- Raises: SW005 when the session does not have the lease any more.
create or replace function stepwell.fn_job_workflows_refresh(p_session_key bigint, p_tenant_id int, p_unit_id bigint, p_lease_no int)
returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_due record;
    v_free record;
    v_one record;
    v_counts int[] := array[0, 0];
begin
    if not exists (select from stepwell.work_unit as u
        inner join stepwell.worker_session as s on u.lease_session_id = s.session_id
        inner join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
        where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id and u.lease_no = p_lease_no and o.operation_name = 'job_workflow_refresh'
            and s.session_key_hash = sha256(int8send(p_session_key)) and s.closed_at is null and s.expires_at >= stepwell.now()) then
        perform stepwell._lease_lost(p_tenant_id, p_unit_id);
    end if;
    select array_agg(p_tenant_id) as tenant_ids, array_agg(stepwell._run_unit(d.workflow_id) order by d.workflow_id) as unit_ids into v_due
    from stepwell._graphs_due(p_tenant_id, 200) as d;
    if v_due.unit_ids is not null then
        v_free := stepwell._units_lock_free(v_due.tenant_ids, v_due.unit_ids);
        for v_one in select stepwell._run_of(q) as workflow_id from unnest(v_free.unit_ids) as q order by q loop
            v_counts[1] := v_counts[1] + 1;
            v_counts[2] := v_counts[2] + (stepwell._graph_refresh(p_tenant_id, v_one.workflow_id) ->> 'is_changed')::boolean::int;
        end loop;
    end if;
    return jsonb_build_object('refreshed', v_counts[1], 'changed', v_counts[2]);
end
$$;

-- The active job workflows of a tenant whose refresh is due, the longest waiting first.
create or replace function stepwell._graphs_due(p_tenant_id int, p_limit int) returns table (workflow_id bigint)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select w.workflow_id from stepwell.job_workflow_detail as w
    where w.tenant_id = p_tenant_id and w.status = 'active'
        and (w.refreshed_at is null or w.refreshed_at <= stepwell.now() - make_interval(secs => stepwell._limit('graph.refresh_seconds')))
    order by w.refreshed_at nulls first, w.workflow_id
    limit p_limit
$$;

-- Enqueues the job job_workflow_refresh in every tenant with job workflows whose refresh is due, unless one is on its way. The keeper
-- calls it. Returns how many jobs it enqueued.
-- Locks: none on existing rows.
-- Idempotency: by the key of the job: one for each tenant and period.
-- Raises: nothing of its own.
create or replace function stepwell.fn_job_workflow_refresh_due() returns int
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_period constant bigint := floor(extract(epoch from stepwell.now()) / greatest(stepwell._limit('graph.refresh_seconds'), 1))::bigint;
    v_tenant record;
    v_count int := 0;
begin
    for v_tenant in
        select t.tenant_id from stepwell.tenant as t
        where exists (select from stepwell._graphs_due(t.tenant_id, 1))
        order by t.tenant_id
    loop
        v_count := v_count + (select count(*) filter (where j.is_new)::int
            from stepwell.fn_job_enqueue(v_tenant.tenant_id, 'job_workflow_refresh', array['{}'::jsonb],
                array['job_workflow_refresh:' || v_period], p_actor => 'engine') as j);
    end loop;
    return v_count;
end
$$;

-- Retries the dead jobs of a job workflow, all under one approval, as fn_run_retry does for a run. A workflow whose other jobs go on
-- can be retried too: dead jobs freeze nothing.
-- Locks: the run.
-- Idempotency: a job is requested once for each time it died.
-- Raises: SW002 when there is no such workflow; SW003 when no job of it is dead, or it has ended otherwise, or is inside another; SW007
--   when nobody has the name of the actor, when the actor may not, or for another tenant.
create or replace function stepwell.fn_job_workflow_retry(
    p_tenant_id int, p_workflow_id bigint, p_actor text, p_reason text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_actor constant text := stepwell._actor_known(p_tenant_id, p_actor, 'run.retry');
    v_state text;
    v_unit_ids bigint[];
begin
    perform stepwell._graph_find(p_tenant_id, p_workflow_id);
    perform stepwell._runs_lock(array[p_tenant_id], array[stepwell._run_unit(p_workflow_id)]);
    v_state := stepwell._run_state(p_tenant_id, p_workflow_id);
    if v_state = 'failed' then
        -- Refuses what a retry of the run refuses.
        v_unit_ids := stepwell._run_dead_steps(p_tenant_id, p_workflow_id);
    elsif v_state in ('in_progress', 'paused') then
        v_unit_ids := array(select u.unit_id from stepwell.work_unit as u
            where u.tenant_id = p_tenant_id and u.scope = 'step' and u.state_code = 'cannot_complete'
                and u.unit_id between stepwell._run_unit(p_workflow_id) + 1 and stepwell._run_last(p_workflow_id)
            order by u.unit_id);
    end if;
    if coalesce(cardinality(v_unit_ids), 0) = 0 then
        raise exception using errcode = 'SW003', message = format('job workflow %s is %s and has no dead job to retry', p_workflow_id,
            stepwell._graph_status_computed(p_tenant_id, p_workflow_id));
    end if;
    return stepwell._replay_request(p_tenant_id, v_unit_ids, v_actor, stepwell._redact_text(p_reason));
end
$$;

-- Checks that there is such a job workflow.
-- Raises: SW002.
create or replace function stepwell._graph_find(p_tenant_id int, p_workflow_id bigint) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if not exists (select from stepwell.job_workflow_detail as w where w.tenant_id = p_tenant_id and w.workflow_id = p_workflow_id) then
        raise exception using errcode = 'SW002', column = 'workflow_id', message = format('job workflow %s does not exist', p_workflow_id);
    end if;
end
$$;
