-- A change of a run, a step or a job from outside happens once for each key: who repeats the call gets the first answer.

-- Cancels, pauses, resumes or retries with a key: workflow_cancel, workflow_pause, workflow_resume and workflow_retry of a run,
-- step_cancel and step_retry of a step or job. A repeat with the same key changes nothing and returns the first answer,
-- whatever has happened since; a call that raised an error was no call. The functions without a key are those that it calls.
-- Locks: the run with those above it, or the job; then as the function that it calls.
-- Idempotency: by key.
-- Raises: SW001 for an unknown call or a key that is too long; SW002 when there is no such run, step or job; SW007 when the
--   actor is unknown or may not, or for another tenant; and what the function raises that it calls.
create or replace function stepwell.fn_change_once(
    p_tenant_id int, p_unit_id bigint, p_call text, p_actor text, p_key text, p_reason text default null, p_evidence jsonb default '{}'
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_run_id constant bigint := stepwell._run_of(p_unit_id);
    v_verb constant text := case p_call
        when 'workflow_cancel' then 'run.cancel' when 'step_cancel' then 'run.cancel'
        when 'workflow_pause' then 'run.pause' when 'workflow_resume' then 'run.pause'
        when 'workflow_retry' then 'run.retry' when 'step_retry' then 'run.retry' end;
    v_answer jsonb;
begin
    p_reason := stepwell._redact_text(p_reason);
    p_actor := stepwell._actor_known(p_tenant_id, p_actor, coalesce(v_verb, 'run.cancel'));
    perform stepwell._change_check(v_verb, p_key);
    perform stepwell._runs_lock_up(array[p_tenant_id], array[p_unit_id]);
    if p_call like 'workflow\_%' then
        p_unit_id := stepwell._run_unit(v_run_id);
        perform stepwell._run_state(p_tenant_id, v_run_id);
    end if;
    perform stepwell._runs_and_jobs_lock(array[p_tenant_id], array[p_unit_id]);
    select i.verdict into v_answer from stepwell.transition_idempotency as i
    where i.tenant_id = p_tenant_id and i.unit_id = p_unit_id and i.transition_id = 'rpc:' || p_call and i.idempotency_key = p_key;
    if found then
        return v_answer;
    end if;
    v_answer := case p_call
        when 'workflow_cancel' then to_jsonb(stepwell.fn_run_cancel(p_tenant_id, v_run_id, p_actor, p_reason, p_evidence))
        when 'workflow_pause' then to_jsonb(stepwell.fn_run_pause(p_tenant_id, v_run_id, p_actor))
        when 'workflow_resume' then to_jsonb(stepwell.fn_run_resume(p_tenant_id, v_run_id, p_actor))
        when 'workflow_retry' then stepwell.fn_run_retry(p_tenant_id, v_run_id, p_actor, p_reason)
        when 'step_cancel' then to_jsonb(stepwell.fn_job_cancel(p_tenant_id, p_unit_id, p_actor, p_reason))
        when 'step_retry' then stepwell.fn_job_retry(p_tenant_id, p_unit_id, p_actor, p_reason) end;
    insert into stepwell.transition_idempotency (tenant_id, unit_id, transition_id, idempotency_key, verdict, decided_at)
    values (p_tenant_id, p_unit_id, 'rpc:' || p_call, p_key, v_answer, stepwell.now());
    return v_answer;
end
$$;

-- Checks the name and the key of a call.
-- Raises: SW001 when the call is unknown, or the key is missing or too long.
create or replace function stepwell._change_check(p_verb text, p_key text) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if p_verb is null then
        raise exception using errcode = 'SW001', column = 'call', message = 'call: workflow_cancel, workflow_pause, workflow_resume,'
            ' workflow_retry, step_cancel or step_retry is accepted';
    end if;
    if p_key is null or octet_length(p_key) not between 1 and stepwell._limit('limits.idempotency_key_bytes') then
        raise exception using errcode = 'SW001', column = 'key',
            message = format('key: 1 to %s bytes are accepted', stepwell._limit('limits.idempotency_key_bytes'));
    end if;
end
$$;
