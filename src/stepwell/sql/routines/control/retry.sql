-- Somebody retries a failed run, step or job. A unit that failed for good (dead) requires a replay request and its
-- approval.

-- Continues a failed run: every dead step of it gets a replay request, all under one approval. When no
-- approval is required (_approval_waiver), the engine grants it and the run continues in this call.
-- Locks: the run.
-- Idempotency: a run that has not failed is refused; a step is requested once for each time it died.
-- Raises: SW002 when there is no such run; SW003 when it has not failed, has no dead step, or is a sub-run; SW007 when nobody
--   has the name of the actor, when the actor may not, or for another tenant.
create or replace function stepwell.fn_run_retry(
    p_tenant_id int, p_run_id bigint, p_actor text, p_reason text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_actor constant text := stepwell._actor_known(p_tenant_id, p_actor, 'run.retry');
begin
    p_reason := stepwell._redact_text(p_reason);
    perform stepwell._runs_lock(array[p_tenant_id], array[stepwell._run_unit(p_run_id)]);
    return stepwell._replay_request(p_tenant_id, stepwell._run_dead_steps(p_tenant_id, p_run_id), v_actor, p_reason);
end
$$;

-- The dead steps of a failed run with their dead tasks, which a retry of the run requests again.
-- Raises: SW003 when the run has not failed, has no dead step, or is a sub-run.
create or replace function stepwell._run_dead_steps(p_tenant_id int, p_run_id bigint) returns bigint[]
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_state constant text := stepwell._run_state(p_tenant_id, p_run_id);
    v_parent record;
    v_unit_ids bigint[];
begin
    if v_state <> 'failed' then
        raise exception using errcode = 'SW003',
            message = format('run %s is %s; only a failed run can be retried', p_run_id, v_state);
    end if;
    select stepwell._run_of(r.parent_unit_id) as run_id into v_parent
    from stepwell.run_detail as r
    where r.tenant_id = p_tenant_id and r.run_id = p_run_id and r.parent_unit_id is not null;
    if found then
        raise exception using errcode = 'SW003', hint = format('retry run %s', v_parent.run_id),
            message = format('run %s is a sub-run of run %s, which has failed with it', p_run_id, v_parent.run_id);
    end if;
    select array_agg(u.unit_id order by u.unit_id) into v_unit_ids
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id between stepwell._run_unit(p_run_id) + 1 and stepwell._run_last(p_run_id)
        and u.state_code = 'cannot_complete' and (u.scope = 'step' or (u.scope = 'task' and exists (select from stepwell.work_unit as s
            where s.tenant_id = u.tenant_id and s.unit_id = u.parent_id and s.state_code = 'cannot_complete')));
    if v_unit_ids is null then
        raise exception using errcode = 'SW003', message = format('run %s has no dead step to retry', p_run_id);
    end if;
    return v_unit_ids;
end
$$;

-- Retries one unit: a failed one now, not at its retry time; a dead one through a replay request and its approval, with
-- its full number of attempts. The failed run of a step continues with it.
-- Locks: the run, or the job itself.
-- Idempotency: a unit that is neither failed nor dead is refused.
-- Raises: SW002 when there is no such unit; SW003 when it cannot be retried; SW004 when the registry refuses; SW007 when nobody
--   has the name of the actor, when the actor may not, or for another tenant.
create or replace function stepwell.fn_job_retry(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_reason text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_actor constant text := stepwell._actor_known(p_tenant_id, p_actor, 'run.retry');
    v_unit stepwell.work_unit;
begin
    perform stepwell._unit_shown_check(p_tenant_id, p_unit_id);
    p_reason := stepwell._redact_text(p_reason);
    perform stepwell._runs_lock_up(array[p_tenant_id], array[p_unit_id]);
    perform stepwell._runs_and_jobs_lock(array[p_tenant_id], array[p_unit_id]);
    select u.* into v_unit from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id and u.scope in ('step', 'task', 'job');
    if not found then
        raise exception using errcode = 'SW002', message = format('job %s does not exist', stepwell._unit_ref(p_unit_id));
    end if;
    perform stepwell._unit_retry_check(v_unit);
    if v_unit.state_code = 'cannot_complete' then
        return stepwell._replay_request(p_tenant_id, stepwell._replay_set(p_tenant_id, p_unit_id), v_actor, p_reason);
    end if;
    perform stepwell._units_dequeue(array[p_tenant_id], array[p_unit_id]);
    perform stepwell._units_move(array[p_tenant_id], array[p_unit_id], 'ready', 'reviewer', 'rpc', 'step_retry', v_actor,
        array[jsonb_build_object('audit_ref', 'actor:' || v_actor)],
        array[jsonb_strip_nulls(jsonb_build_object('reason', p_reason))]);
    perform stepwell._slots_take(array[p_tenant_id], array[p_unit_id]);
    perform stepwell._subrun_states_show(array[p_tenant_id], array[stepwell._run_of(p_unit_id)]);
    return jsonb_build_object('state', 'ready', 'unit_ids', array[p_unit_id], 'approval_id', null);
end
$$;

-- Checks that a step, task or job can be retried: it has failed or is dead, and what is around it goes on.
-- Raises: SW003 when it cannot.
create or replace function stepwell._unit_retry_check(p_unit stepwell.work_unit) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_run_state text;
    v_step_state constant text := (select s.state_code from stepwell.work_unit as s
        where p_unit.scope = 'task' and s.tenant_id = p_unit.tenant_id and s.unit_id = p_unit.parent_id);
begin
    if p_unit.scope in ('step', 'task') then
        v_run_state := stepwell._run_state(p_unit.tenant_id, stepwell._run_of(p_unit.unit_id));
        if v_run_state in ('completed', 'cancelled') then
            raise exception using errcode = 'SW003',
                message = format('run %s has ended (%s); its steps cannot be retried', stepwell._run_of(p_unit.unit_id), v_run_state);
        end if;
    end if;
    if v_step_state <> 'cannot_complete' and stepwell._has_ended(v_step_state) then
        raise exception using errcode = 'SW003', message = format('%s is %s; its tasks cannot be retried',
            stepwell._title_of(p_unit.tenant_id, p_unit.parent_id), v_step_state);
    end if;
    if p_unit.state_code not in ('failed', 'cannot_complete') then
        raise exception using errcode = 'SW003',
            message = format('%s is %s; only what has failed or is dead can be retried', stepwell._title_of(p_unit.tenant_id, p_unit.unit_id), p_unit.state_code);
    end if;
    if p_unit.state_code = 'failed' and p_unit.failure_class = 'subworkflow_red' then
        raise exception using errcode = 'SW003', message = format('%s has failed because a step of its sub-workflow has;'
            ' retry that step, in run %s', stepwell._title_of(p_unit.tenant_id, p_unit.unit_id), (select stepwell._run_of(max(w.unit_id))
                from stepwell.work_unit as w where w.tenant_id = p_unit.tenant_id and w.parent_id = p_unit.unit_id and w.scope = 'workflow_run'));
    end if;
end
$$;

-- What must be replayed with one dead unit: the dead steps around it, and the dead steps and tasks inside it.
create or replace function stepwell._replay_set(p_tenant_id int, p_unit_id bigint) returns bigint[]
language sql stable
set search_path = stepwell, pg_temp
as $$
    with recursive around as (
        select u.unit_id, u.parent_id from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id
        union
        select u.unit_id, u.parent_id
        from around as a
        inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.unit_id = a.parent_id
        where u.scope = 'step' and u.state_code = 'cannot_complete'
    ), inside as (
        select p_unit_id as unit_id
        union
        select u.unit_id
        from inside as i
        inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.parent_id = i.unit_id
        where u.scope in ('step', 'task') and u.state_code = 'cannot_complete'
    )
    select array_agg(x.unit_id order by x.unit_id)
    from (select a.unit_id from around as a union select i.unit_id from inside as i) as x
$$;

-- Requests a replay of dead units of one run, or of one dead job: one request for each, one approval for all. Where no
-- approval is required it is granted at once and carried out. A unit is requested once for each time it died.
-- Locks: the caller holds the run or the job.
-- Raises: SW003 when an earlier request for the same death waits for its approval.
create or replace function stepwell._replay_request(p_tenant_id int, p_unit_ids bigint[], p_actor text, p_reason text)
returns jsonb
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_approval_id bigint;
    v_request record;
begin
    perform stepwell._replay_check(p_tenant_id, p_unit_ids);
    v_approval_id := stepwell._approval_request(p_tenant_id, 'replay',
        case when cardinality(p_unit_ids) = 1 then p_unit_ids[1] else stepwell._run_unit(stepwell._run_of(p_unit_ids[1])) end, p_actor, p_reason);
    for v_request in
        insert into stepwell.dlq_replay_request (
            tenant_id, unit_id, approval_id, proposal_state, idempotency_key, requested_by, reason, requested_at)
        select p_tenant_id, u.unit_id, v_approval_id, 'submitted',
            format('replay:%s:%s:%s', u.unit_id, u.lease_no, v_approval_id), p_actor, p_reason, v_now
        from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id = any (p_unit_ids)
        order by u.unit_id
        returning unit_id, replay_request_id
    loop
        perform stepwell._event_append(p_tenant_id, v_request.unit_id, 'dlq_replay.proposed', p_actor,
            jsonb_build_object('replay_request_id', v_request.replay_request_id, 'approval_id', v_approval_id), 'reviewer');
    end loop;
    if stepwell._approval_waiver('replay') is not null then
        perform stepwell._approval_end(p_tenant_id, v_approval_id, 'approved', 'engine', stepwell._approval_waiver('replay'));
        perform stepwell._waiver_tell(p_tenant_id, p_unit_ids[1], 'replay');
        return stepwell._replay_apply(p_tenant_id, v_approval_id, p_actor);
    end if;
    return jsonb_build_object('state', 'approval_requested', 'approval_id', v_approval_id, 'unit_ids', p_unit_ids);
end
$$;

-- Checks that no earlier request to replay one of these units waits for its approval, or for its stage.
-- Raises: SW003 when one does.
create or replace function stepwell._replay_check(p_tenant_id int, p_unit_ids bigint[]) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_request record;
begin
    select r.approval_id, r.unit_id, r.plan_id, r.proposal_state into v_request
    from stepwell.work_unit as u
    inner join stepwell.dlq_replay_request as r on u.tenant_id = r.tenant_id and u.unit_id = r.unit_id
    where u.tenant_id = p_tenant_id and u.unit_id = any (p_unit_ids) and r.proposal_state in ('submitted', 'approved') and r.replay_state is null
    limit 1;
    if found then
        raise exception using errcode = 'SW003', message = case v_request.proposal_state
            when 'submitted' then format('the replay of %s waits for approval %s',
                stepwell._title_of(p_tenant_id, v_request.unit_id), stepwell._unit_ref(v_request.approval_id))
            else format('the replay of %s waits for its stage of plan %s',
                stepwell._title_of(p_tenant_id, v_request.unit_id), stepwell._unit_ref(v_request.plan_id)) end;
    end if;
end
$$;

-- Records how replays ended: the unit completed, died again or was cancelled. The keeper calls this, so that reports
-- need not know about replays. A request whose outcome cannot be written is set aside, and the others are written.
-- Locks: the requests, without those that another keeper holds.
-- Idempotency: an outcome is written once.
-- Raises: what is not the fault of a row.
create or replace function stepwell.fn_replays_settle(p_limit int default 500) returns int
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_ended record;
begin
    select array_agg(x.tenant_id) as tenant_ids, array_agg(x.replay_request_id) as request_ids
    into v_ended
    from (
        select r.tenant_id, r.replay_request_id
        from stepwell.dlq_replay_request as r
        inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.unit_id = u.unit_id
        where r.replay_state = 'scheduled' and u.state_code in ('completed', 'cannot_complete', 'cancelled')
            and not stepwell._is_set_aside(u.tenant_id, 'replays', r.replay_request_id::text, v_now)
        order by r.tenant_id, r.replay_request_id
        limit least(p_limit, 1000)
        for update of r skip locked
    ) as x;
    return stepwell._units_isolate('_replays_settle', 'replays', v_ended.tenant_ids, v_ended.request_ids);
end
$$;

-- Writes the outcomes of these requests.
-- Locks: the caller holds the requests.
create or replace function stepwell._replays_settle(p_tenant_ids int[], p_request_ids bigint[]) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_request record;
    v_count int := 0;
begin
    for v_request in
        select r.tenant_id, r.replay_request_id, r.unit_id, u.state_code
        from unnest(p_tenant_ids, p_request_ids) as q (tenant_id, replay_request_id)
        inner join stepwell.dlq_replay_request as r on q.tenant_id = r.tenant_id and q.replay_request_id = r.replay_request_id
        inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.unit_id = u.unit_id
        where u.state_code in ('completed', 'cannot_complete', 'cancelled')
        order by r.tenant_id, r.replay_request_id
    loop
        update stepwell.dlq_replay_request as r
        set replay_state = case when v_request.state_code = 'completed' then 'completed' else 'failed' end,
            outcome_at = stepwell.now(), outcome_jsonb = jsonb_build_object('state', v_request.state_code)
        where r.tenant_id = v_request.tenant_id and r.replay_request_id = v_request.replay_request_id;
        perform stepwell._event_append(v_request.tenant_id, v_request.unit_id, 'dlq_replay.completed', 'keeper',
            jsonb_build_object('replay_request_id', v_request.replay_request_id, 'state', v_request.state_code));
        v_count := v_count + 1;
    end loop;
    return v_count;
end
$$;
