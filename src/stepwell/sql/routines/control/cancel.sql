-- Somebody cancels a run, a step or a job.

-- Cancels a run and its sub-runs: every open unit is cancelled, and nothing of the run stays in the queue, waiting or
-- timed. A running handler is told at its next heartbeat.
-- Locks: the run with those above and below it, from the top.
-- Idempotency: a cancelled run stays cancelled.
-- Raises: SW002 when there is no such run; SW003 when it has completed; SW004 when the registry refuses; SW007 when nobody
--   has the name of the actor, when the actor may not, or for another tenant.
create or replace function stepwell.fn_run_cancel(
    p_tenant_id int, p_run_id bigint, p_actor text, p_reason text default null, p_evidence jsonb default '{}'
) returns text
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_actor constant text := stepwell._actor_known(p_tenant_id, p_actor, 'run.cancel');
    v_requests constant stepwell.transition_request[] := array[row(p_tenant_id, stepwell._run_unit(p_run_id), 'cancelled', null,
        p_evidence - '{actor,actor_id}'::text[] || jsonb_build_object('audit_ref', coalesce(
            case when coalesce(current_setting('stepwell.binding', true), '') = '' then p_evidence ->> 'audit_ref' end, 'actor:' || v_actor)),
        jsonb_strip_nulls(jsonb_build_object('reason', stepwell._redact_text(p_reason))), null, null)::stepwell.transition_request];
    v_cause constant stepwell.transition_cause := row('reviewer', 'rpc', 'workflow_cancel', v_actor, null, null, null, 0, null)::stepwell.transition_cause;
    v_state text;
begin
    p_reason := stepwell._redact_text(p_reason);
    perform stepwell._runs_lock_up(array[p_tenant_id], array[stepwell._run_unit(p_run_id)]);
    perform stepwell._runs_lock_down(p_tenant_id, p_run_id);
    v_state := stepwell._run_state(p_tenant_id, p_run_id);
    if v_state = 'cancelled' then
        return v_state;
    end if;
    if v_state = 'completed' then
        raise exception using errcode = 'SW003', message = format('run %s has completed and cannot be cancelled', p_run_id);
    end if;
    if (stepwell._transition_apply(v_requests, v_cause)).applied_count = 0 then
        perform stepwell._refuse(p_tenant_id, j.unit_id, 'cancelled', j.problems, p_evidence || jsonb_build_object('actor', v_actor))
        from stepwell._transition_judge(v_requests, v_cause) as j;
    end if;
    if p_evidence ->> 'approval_id' is null then
        perform stepwell._waiver_tell(p_tenant_id, stepwell._run_unit(p_run_id), 'workflow_cancel');
    end if;
    perform stepwell._runs_clear(p_tenant_id, stepwell._subruns_open(p_tenant_id, p_run_id, null), p_run_id, v_actor, p_reason);
    perform stepwell._subruns_end(array[p_tenant_id], array[stepwell._run_unit(p_run_id)]);
    return 'cancelled';
end
$$;

-- Cancels one unit, a free-standing job or a step of a run: it leaves the queue, its lease ends, steps that depend on
-- it are cancelled. A running handler is told at its next heartbeat.
-- Locks: the run with those above and below it, from the top, or the job itself.
-- Idempotency: a cancelled unit stays cancelled.
-- Raises: SW002 when there is no such unit; SW003 when it has ended; SW004 when the registry refuses; SW007 when the
--   actor is unknown or may not, or for another tenant.
create or replace function stepwell.fn_job_cancel(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_reason text default null
) returns text
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_actor constant text := stepwell._actor_known(p_tenant_id, p_actor, 'run.cancel');
    v_unit stepwell.work_unit;
begin
    perform stepwell._unit_shown_check(p_tenant_id, p_unit_id);
    p_reason := stepwell._redact_text(p_reason);
    perform stepwell._runs_lock_up(array[p_tenant_id], array[p_unit_id]);
    perform stepwell._runs_lock_down(p_tenant_id, stepwell._run_of(p_unit_id));
    perform stepwell._runs_and_jobs_lock(array[p_tenant_id], array[p_unit_id]);
    select u.* into v_unit from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id and u.scope in ('step', 'job');
    if not found then
        raise exception using errcode = 'SW002', message = format('job %s does not exist', stepwell._unit_ref(p_unit_id));
    end if;
    if v_unit.state_code = 'cancelled' then
        return 'cancelled';
    end if;
    perform stepwell._unit_cancel_check(v_unit);
    perform stepwell._units_dequeue(array[p_tenant_id], array[p_unit_id]);
    perform stepwell._units_move(array[p_tenant_id], array[p_unit_id], 'cancelled', 'reviewer', 'rpc', 'workflow_cancel',
        v_actor, array[jsonb_build_object('audit_ref', 'actor:' || v_actor)],
        array[jsonb_strip_nulls(jsonb_build_object('reason', p_reason))]);
    perform stepwell._receipts_doubt(array[p_tenant_id], array[p_unit_id], 'the step or job was cancelled meanwhile');
    if v_unit.scope = 'step' then
        perform stepwell._tasks_cancel(array[p_tenant_id], array[p_unit_id]);
        -- What is inside the step is cancelled with it: the items of a Map, the run of a sub-workflow.
        perform stepwell._map_abort(p_tenant_id, p_unit_id);
        perform stepwell._subruns_cancel(p_tenant_id, array[p_unit_id], v_actor, p_reason);
        perform stepwell._dependents_abort(array[p_tenant_id], array[p_unit_id]);
        perform stepwell._runs_settle(array[p_tenant_id], array[p_unit_id]);
    end if;
    return 'cancelled';
end
$$;

-- Checks that a step or job has not ended, so that it can be cancelled.
-- Raises: SW003 when it has.
create or replace function stepwell._unit_cancel_check(p_unit stepwell.work_unit) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if p_unit.state_code in ('completed', 'skipped', 'cannot_complete') then
        raise exception using errcode = 'SW003', message = format('%s has ended (%s) and cannot be cancelled',
            stepwell._title_of(p_unit.tenant_id, p_unit.unit_id), p_unit.state_code);
    end if;
end
$$;
