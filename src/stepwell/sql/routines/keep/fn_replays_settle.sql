-- Purpose: writes down how replays ended: the unit completed, died again or was cancelled. Looked at by the keeper, so
--   that the hot path knows nothing of replays.
-- Locks: the requests, skipping those another keeper holds.
-- Idempotency: an outcome is written once.
-- Raises: nothing.
create or replace function stepwell.fn_replays_settle(p_limit int default 500) returns int
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_request record;
    v_count int := 0;
begin
    for v_request in
        select r.tenant_id, r.replay_request_id, r.unit_id, u.state_code
        from stepwell.dlq_replay_request as r
        inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.unit_id = u.unit_id
        where r.proposal_state = 'scheduled' and u.state_code in ('completed', 'cannot_complete', 'cancelled')
        order by r.tenant_id, r.replay_request_id
        limit least(p_limit, 1000)
        for update of r skip locked
    loop
        update stepwell.dlq_replay_request as r
        set proposal_state = case when v_request.state_code = 'completed' then 'completed' else 'failed' end,
            outcome_at = stepwell.now(), outcome_jsonb = jsonb_build_object('state', v_request.state_code)
        where r.tenant_id = v_request.tenant_id and r.replay_request_id = v_request.replay_request_id;
        perform stepwell._event_append(v_request.tenant_id, v_request.unit_id, 'dlq_replay.completed', 'keeper',
            jsonb_build_object('replay_request_id', v_request.replay_request_id, 'state', v_request.state_code));
        v_count := v_count + 1;
    end loop;
    return v_count;
end
$$;
