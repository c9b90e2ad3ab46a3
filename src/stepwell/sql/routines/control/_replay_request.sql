-- Purpose: asks for dead units of one run, or one dead job, to run again: a request each, one approval for all. Granted
--   at once where no approval is required, and then carried out.
-- Locks: the caller holds the run or the job.
-- Idempotency: a unit is requested once for each time it died.
-- Raises: SW003 when a request for the same death waits for its approval.
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
    select r.replay_request_id, r.approval_id, r.unit_id into v_request
    from stepwell.work_unit as u
    inner join stepwell.dlq_replay_request as r on u.tenant_id = r.tenant_id and u.unit_id = r.unit_id
    where u.tenant_id = p_tenant_id and u.unit_id = any (p_unit_ids) and r.proposal_state = 'submitted'
    limit 1;
    if found then
        raise exception using errcode = 'SW003', message = format('replay %s of unit %s waits for approval %s',
            v_request.replay_request_id, v_request.unit_id, v_request.approval_id);
    end if;
    v_approval_id := stepwell._approval_request(p_tenant_id, 'replay',
        case when cardinality(p_unit_ids) = 1 then p_unit_ids[1] else (p_unit_ids[1] >> 20) << 20 end, p_actor, p_reason);
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
    if exists (select from stepwell.dot_config as c
        where c.config_key = 'approval.required.replay' and c.config_value = 'false') then
        perform stepwell._approval_end(p_tenant_id, v_approval_id, 'approved', 'engine', null);
        return stepwell._replay_apply(p_tenant_id, v_approval_id, p_actor);
    end if;
    return jsonb_build_object('state', 'approval_requested', 'approval_id', v_approval_id, 'unit_ids', p_unit_ids);
end
$$;
