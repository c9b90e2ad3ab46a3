-- Purpose: the verdict of the policy in force on an action: effect, reason code, reason, rule, tier, two_person. Closed by
--   default: no policy, one that is missing, altered or broken, and any error are a denial with a name.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing but the statement's time-out, which the caller counts as a denial.
create or replace function stepwell.fn_policy_evaluate(p_tenant_id int, p_action jsonb) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_policy record;
    v_verdict jsonb;
begin
    select a.policy_set_id as active_id, s.policy_set_id, s.version_no, s.rules, s.rules_hash into v_policy
    from stepwell.policy_active as a
    left join stepwell.policy_set as s on a.tenant_id = s.tenant_id and a.policy_set_id = s.policy_set_id
    where a.tenant_id = p_tenant_id;
    if not found then
        return jsonb_build_object('effect', 'deny', 'reason_code', 'no_policy', 'reason', 'no policy is in force');
    end if;
    if v_policy.policy_set_id is null then
        v_verdict := jsonb_build_object('reason_code', 'policy_missing', 'reason', 'the policy in force cannot be found');
    elsif v_policy.rules is null or v_policy.rules_hash is distinct from stepwell._policy_hash(v_policy.rules) then
        v_verdict := jsonb_build_object('reason_code', 'policy_altered',
            'reason', 'the rules in force are not those that were approved');
    elsif jsonb_typeof(p_action) is distinct from 'object' then
        v_verdict := jsonb_build_object('reason_code', 'action_unreadable', 'reason', 'the action is not an object');
    else
        v_verdict := stepwell._policy_judge(v_policy.rules, p_action);
    end if;
    return '{"effect": "deny"}' || v_verdict || jsonb_build_object('policy_set_id', v_policy.policy_set_id,
        'policy_version', v_policy.version_no);
exception when others then
    return jsonb_build_object('effect', 'deny', 'reason_code', 'evaluation_error', 'reason',
        format('the policy cannot be evaluated: %s', sqlerrm));
end
$$;
