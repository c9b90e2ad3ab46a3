-- Purpose: the approval an action needs: the one asked for before, for this very action and no weaker, or a new question.
-- Locks: none beyond the new rows.
-- Idempotency: by the action's key, its digest, the tier, the quorum and the life of the unit.
-- Raises: nothing of its own.
create or replace function stepwell._action_approval(
    p_tenant_id int, p_unit_id bigint, p_action jsonb, p_document jsonb, p_verdict jsonb
) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_quorum constant int := case when p_verdict ->> 'two_person' = 'true' then 2 else 1 end;
    v_tier constant int := array_position(array['low', 'med', 'high'], p_verdict ->> 'tier');
    -- A unit that died of a refusal and is replayed asks again.
    v_key constant text := format('act:%s:%s:%s:%s:%s', p_action ->> 'key', p_action ->> 'hash', v_tier, v_quorum,
        (select count(*) from stepwell.job_dead_letter as d where d.tenant_id = p_tenant_id and d.unit_id = p_unit_id));
    v_pattern constant text := stepwell._redaction_pattern();
    v_approval_id bigint;
begin
    select a.approval_id into v_approval_id from stepwell.approval_detail as a
    where a.tenant_id = p_tenant_id and a.request_key = v_key;
    if found then
        return v_approval_id;
    end if;
    return stepwell._approval_request(p_tenant_id, 'act', p_unit_id, coalesce(p_document ->> 'started_by', 'engine'),
        p_verdict ->> 'reason', v_tier, v_quorum, (p_verdict ->> 'expires_seconds')::int, v_key, p_document ->> 'actor',
        case when p_verdict ? 'approvers' then array(select jsonb_array_elements_text(p_verdict -> 'approvers')) end,
        p_verdict ->> 'role', jsonb_build_object(
            'connector', p_action ->> 'connector', 'operation', p_action ->> 'operation',
            'target', stepwell._redact_text(p_action ->> 'target'), 'fields', stepwell._redact(p_action -> 'fields', v_pattern),
            'reversible', p_action -> 'reversible', 'writes', p_action -> 'writes', 'reverses', p_action -> 'reverses',
            'idempotency_key', p_action ->> 'key', 'action_hash', p_action ->> 'hash', 'workflow', p_document -> 'workflow',
            'step', p_document -> 'step', 'run_id', p_document -> 'run_id', 'rule', p_verdict -> 'rule',
            'policy_version', p_verdict -> 'policy_version'));
end
$$;
