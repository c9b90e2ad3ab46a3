-- Job workflows are refreshed. Every job that ends moves the run of its workflow in the same transaction, so the status is always
-- current; a refresh counts the jobs again, stores the status, and ends what should have ended.

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
-- Locks: the row of the workflow.
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
-- One that cannot be refreshed becomes a problem, and the others are refreshed.
-- Locks: the runs that are free, with those above them; at most 200.
-- Idempotency: what was refreshed just now is not due.
-- Raises: SW005 when the session does not have the lease any more; SW007 for the generator.
create or replace function stepwell.fn_job_workflows_refresh(p_session_key bigint, p_tenant_id int, p_unit_id bigint, p_lease_no int)
returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_due record;
    v_free record;
    v_one record;
    v_counts int[];
begin
    if coalesce(current_setting('stepwell.binding', true), '') <> '' then
        perform stepwell._executes_check();
    end if;
    if not exists (select from stepwell.work_unit as u
        inner join stepwell.worker_session as s on u.lease_session_id = s.session_id
        inner join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
        where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id and u.lease_no = p_lease_no and o.operation_name = 'job_workflow_refresh'
            and s.session_key_hash = sha256(int8send(p_session_key)) and s.closed_at is null and s.expires_at >= stepwell.now()) then
        perform stepwell._lease_lost(p_tenant_id, p_unit_id);
    end if;
    -- Most have ended with their last job: their status is written at once. Only those that are open are counted again.
    with ended as (
        update stepwell.job_workflow_detail as w
        set status = stepwell._graph_status(r.finished_state, p.completed_count, p.failed_count), refreshed_at = stepwell.now()
        from stepwell._graphs_due(p_tenant_id, 5000) as d
        inner join stepwell.run_detail as r on r.tenant_id = p_tenant_id and d.workflow_id = r.run_id
        inner join stepwell.run_progress as p on p.tenant_id = p_tenant_id and d.workflow_id = p.run_id
        where r.finished_at is not null and w.tenant_id = p_tenant_id and w.workflow_id = d.workflow_id
        returning w.workflow_id
    )
    select array[count(*), count(*)]::int[] into v_counts from ended;
    select array_agg(p_tenant_id) as tenant_ids, array_agg(stepwell._run_unit(d.workflow_id) order by d.workflow_id) as unit_ids into v_due
    from stepwell._graphs_due(p_tenant_id, 200) as d;
    if v_due.unit_ids is not null then
        v_free := stepwell._units_lock_free(v_due.tenant_ids, v_due.unit_ids);
        for v_one in select stepwell._run_of(q) as workflow_id from unnest(v_free.unit_ids) as q order by q loop
            begin
                v_counts[1] := v_counts[1] + 1;
                v_counts[2] := v_counts[2] + (stepwell._graph_refresh(p_tenant_id, v_one.workflow_id) ->> 'is_changed')::boolean::int;
            exception when others then
                if not stepwell._is_fault_of_row(sqlstate) then
                    raise;
                end if;
                update stepwell.job_workflow_detail as w set refreshed_at = stepwell.now()
                where w.tenant_id = p_tenant_id and w.workflow_id = v_one.workflow_id;
                perform stepwell._problem_open(p_tenant_id, 'set_aside', 'refresh', v_one.workflow_id::text,
                    stepwell._run_unit(v_one.workflow_id), sqlstate, sqlerrm);
            end;
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
        select distinct w.tenant_id from stepwell.job_workflow_detail as w
        where w.status = 'active'
            and (w.refreshed_at is null or w.refreshed_at <= stepwell.now() - make_interval(secs => stepwell._limit('graph.refresh_seconds')))
            and not exists (
                select from stepwell.job_ready as q
                inner join stepwell.operation as o on q.tenant_id = o.tenant_id and q.operation_id = o.operation_id
                where q.tenant_id = w.tenant_id and o.operation_name = 'job_workflow_refresh')
        order by w.tenant_id
    loop
        begin
            v_count := v_count + (select count(*) filter (where j.is_new)::int
                from stepwell.fn_job_enqueue(v_tenant.tenant_id, 'job_workflow_refresh', array['{}'::jsonb],
                    array['job_workflow_refresh:' || v_period], p_actor => 'engine') as j);
        exception when others then
            if not stepwell._is_fault_of_row(sqlstate) then
                raise;
            end if;
            perform stepwell._problem_open(v_tenant.tenant_id, 'set_aside', 'refresh', 'all', null, sqlstate, sqlerrm);
        end;
    end loop;
    return v_count;
end
$$;
