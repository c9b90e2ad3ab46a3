-- Purpose: carries out granted replays: the failed run goes on, dead units are ready again with fresh attempts, and what
--   was called off because of them waits again. Their history stays.
-- Locks: the caller holds the run or the job.
-- Idempotency: only requests that are still submitted are taken.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._replay_apply(p_tenant_id int, p_approval_id bigint, p_actor text) returns jsonb
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_dead record;
    v_engine record;
    v_count int;
begin
    with taken as (
        update stepwell.dlq_replay_request as r set proposal_state = 'scheduled', scheduled_at = v_now
        where r.tenant_id = p_tenant_id and r.approval_id = p_approval_id and r.proposal_state = 'submitted'
        returning r.unit_id, r.replay_request_id
    )
    select
        array_agg(p_tenant_id) as tenant_ids, array_agg(t.unit_id order by t.unit_id) as unit_ids,
        min(t.replay_request_id) as first_id,
        array_agg(jsonb_build_object('replay_request_id', t.replay_request_id, 'approval_id', p_approval_id,
            'audit_ref', 'approval:' || p_approval_id) order by t.unit_id) as evidence
    into v_dead
    from taken as t;
    perform stepwell._must_apply(array_agg(u.tenant_id), array_agg(u.unit_id), 'in_progress', 'system', 'event',
        'replay_approved', p_actor, array[v_dead.evidence[1]],
        array[jsonb_build_object('approval_id', p_approval_id, 'reason', 'replay')])
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = (v_dead.unit_ids[1] >> 20) << 20
        and u.scope = 'workflow_run' and u.state_code = 'failed';
    update stepwell.run_detail as r set finished_state = null, finished_at = null
    where r.tenant_id = p_tenant_id and r.run_id = v_dead.unit_ids[1] >> 20;
    perform stepwell._replay_units(p_tenant_id, v_dead.unit_ids, v_dead.evidence, p_actor);
    update stepwell.job_dead_letter as d set resolved_at = v_now, resolution = 'replayed'
    where d.tenant_id = p_tenant_id and d.unit_id = any (v_dead.unit_ids) and d.resolved_at is null;
    -- Before the engine's own steps run: one of them may end at once and release what comes after it.
    v_count := stepwell._dependents_reinstate(p_tenant_id, v_dead.unit_ids, p_actor, v_dead.evidence[1]);
    perform stepwell._items_release(p_tenant_id, v_dead.unit_ids);
    perform stepwell._slots_take(v_dead.tenant_ids, v_dead.unit_ids);
    select array_agg(u.tenant_id order by u.unit_id) as tenant_ids, array_agg(u.unit_id order by u.unit_id) as unit_ids
    into v_engine
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = any (v_dead.unit_ids) and u.class_id is null and u.scope = 'step';
    if v_engine.unit_ids is not null then
        perform stepwell._engine_steps(v_engine.tenant_ids, v_engine.unit_ids);
    end if;
    perform stepwell._rollups_lend(array[p_tenant_id], array[v_dead.unit_ids[1] >> 20]);
    perform stepwell._workers_wake(null);
    return jsonb_build_object('state', 'replayed', 'approval_id', p_approval_id, 'unit_ids', v_dead.unit_ids,
        'reinstated_count', v_count);
end
$$;
