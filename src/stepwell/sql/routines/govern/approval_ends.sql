-- What follows from the end of an approval: a replay, an action or a policy change goes on, or does not.

-- Ends an approval as approved or rejected; the core checks the quorum.
-- Locks: the approval unit.
-- Raises: SW004 when the registry refuses, also when the quorum is missing.
create or replace function stepwell._approval_end(
    p_tenant_id int, p_approval_id bigint, p_state text, p_actor text, p_reason text
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._units_move(array[p_tenant_id], array[p_approval_id], p_state, 'reviewer', 'rpc', 'approval_decide',
        p_actor, array[jsonb_build_object('audit_ref', 'actor:' || p_actor)],
        array[jsonb_strip_nulls(jsonb_build_object('reason', p_reason))]);
    perform stepwell._approvals_close(array[p_tenant_id], array[p_approval_id], p_actor);
end
$$;

-- Does what follows from the end of an approval: a granted replay is carried out, the step of an action continues or
-- fails, a policy change takes effect or is rejected. This is the only place that knows what each kind of approval is
-- for.
-- Locks: the caller holds the subject's run, or the subject itself, and the approval.
-- Raises: SW003 when what was approved does not fit any more; SW004 when the registry refuses.
create or replace function stepwell._approval_settle(p_tenant_id int, p_approval_id bigint, p_actor text) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_ended record;
begin
    select a.action, a.subject_unit_id, u.state_code into v_ended
    from stepwell.approval_detail as a
    inner join stepwell.work_unit as u on a.tenant_id = u.tenant_id and a.approval_id = u.unit_id
    where a.tenant_id = p_tenant_id and a.approval_id = p_approval_id;
    if v_ended.action in ('replay', 'replay_plan') then
        if exists (select from stepwell.dlq_replay_plan as p where p.tenant_id = p_tenant_id and p.approval_id = p_approval_id) then
            perform stepwell._replay_plan_decided(p_tenant_id, p_approval_id, v_ended.subject_unit_id, v_ended.state_code, p_actor);
        elsif v_ended.state_code = 'approved' then
            perform stepwell._replay_apply(p_tenant_id, p_approval_id, p_actor);
        end if;
    elsif v_ended.action = 'act' then
        perform stepwell._action_decided(p_tenant_id, p_approval_id);
    elsif v_ended.action = 'proposal' then
        perform stepwell._policy_decided(p_tenant_id, p_approval_id, v_ended.subject_unit_id, v_ended.state_code, p_actor);
    end if;
end
$$;

-- The approval of a plan of replays has ended. Granted: the keeper begins its first stage. Otherwise the plan ends with it.
-- Locks: the caller holds the proposal and the approval; then the row of the plan.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._replay_plan_decided(
    p_tenant_id int, p_approval_id bigint, p_plan_id bigint, p_state text, p_actor text
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_evidence constant jsonb := jsonb_build_object('approval_id', p_approval_id, 'audit_ref', 'approval:' || p_approval_id);
begin
    if p_state <> 'approved' then
        perform stepwell._units_move(array[p_tenant_id], array[p_plan_id], 'rejected', 'reviewer', 'rpc', 'proposal_decide', p_actor,
            array[v_evidence], array[jsonb_build_object('reason', 'approval ' || p_state)]);
        update stepwell.dlq_replay_plan as p set plan_state = 'rejected', ended_at = stepwell.now(), ended_because = 'approval ' || p_state
        where p.tenant_id = p_tenant_id and p.plan_id = p_plan_id;
        return;
    end if;
    perform stepwell._units_move(array[p_tenant_id], array[p_plan_id], 'approved', 'reviewer', 'rpc', 'proposal_decide', p_actor,
        array[v_evidence]);
    perform stepwell._units_move(array[p_tenant_id], array[p_plan_id], 'merged', 'system', 'rpc', 'proposal_merge', 'engine',
        array[v_evidence]);
    update stepwell.dlq_replay_plan as p set plan_state = 'running'
    where p.tenant_id = p_tenant_id and p.plan_id = p_plan_id;
    update stepwell.dlq_replay_request as r set proposal_state = 'approved'
    where r.tenant_id = p_tenant_id and r.plan_id = p_plan_id and r.proposal_state = 'submitted';
end
$$;

-- The approval of an action has ended. Granted: the step becomes ready and continues. Otherwise: the step fails for
-- good, with the reason. A step that does not wait yet finds the event when it begins to wait.
-- Locks: the caller holds the run or job, and the approval.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._action_decided(p_tenant_id int, p_approval_id bigint) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_event constant text := 'approval.decided.' || p_approval_id;
    v_ended record;
begin
    select a.subject_unit_id as unit_id, u.state_code, s.state_code as step_state, a.decided_by,
        coalesce(v.reason, 'no reason given') as reason,
        exists (select from stepwell.event_wait as w where w.tenant_id = p_tenant_id
            and w.unit_id = a.subject_unit_id and w.event_type = v_event) as is_parked
    into v_ended
    from stepwell.approval_detail as a
    inner join stepwell.work_unit as u on a.tenant_id = u.tenant_id and a.approval_id = u.unit_id
    inner join stepwell.work_unit as s on a.tenant_id = s.tenant_id and a.subject_unit_id = s.unit_id
    left join stepwell.approval_vote as v
        on a.tenant_id = v.tenant_id and a.approval_id = v.approval_id and v.decision = 'reject'
    where a.tenant_id = p_tenant_id and a.approval_id = p_approval_id
    order by v.voted_at
    limit 1;
    if stepwell._has_ended(v_ended.step_state) then
        return;
    end if;
    if v_ended.state_code <> 'approved' and v_ended.is_parked then
        perform stepwell._units_dequeue(array[p_tenant_id], array[v_ended.unit_id]);
        perform stepwell._units_fail(array[p_tenant_id], array[v_ended.unit_id], array[jsonb_build_object(
            'failure_class', 'approval_' || v_ended.state_code, 'error', jsonb_build_object(
                'type', 'Approval' || initcap(v_ended.state_code), 'approval_id', p_approval_id,
                'message', case v_ended.state_code when 'expired' then format('approval %s was not decided in time', stepwell._unit_ref(p_approval_id))
                    when 'rejected' then format('%s rejected approval %s: %s', v_ended.decided_by, stepwell._unit_ref(p_approval_id), v_ended.reason)
                    else format('approval %s was withdrawn', stepwell._unit_ref(p_approval_id)) end))], 'system');
        perform stepwell._runs_settle(array[p_tenant_id], array[v_ended.unit_id]);
        return;
    end if;
    perform stepwell._news_deliver(p_tenant_id, v_ended.unit_id, v_event,
        jsonb_build_object('approval_id', p_approval_id, 'state', v_ended.state_code));
end
$$;
