-- Purpose: the approval of a change of policy has ended: granted, the proposal is merged and its rules are in force;
--   otherwise it is rejected.
-- Locks: the caller holds the proposal and the approval; then the tenant's row in policy_active.
-- Idempotency: called once, by whoever ended the approval. Proposals that are no policy are passed over.
-- Raises: SW003 when the rules in force have changed since; SW004 when the registry refuses.
create or replace function stepwell._policy_decided(
    p_tenant_id int, p_approval_id bigint, p_proposal_id bigint, p_state text, p_actor text
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_evidence constant jsonb := jsonb_build_object('approval_id', p_approval_id, 'audit_ref', 'approval:' || p_approval_id);
    v_policy stepwell.policy_set;
begin
    select s.* into v_policy from stepwell.policy_set as s
    where s.tenant_id = p_tenant_id and s.proposal_id = p_proposal_id;
    if not found then
        return;
    end if;
    if p_state <> 'approved' then
        perform stepwell._must_apply(array[p_tenant_id], array[p_proposal_id], 'rejected', 'reviewer', 'rpc',
            'proposal_decide', p_actor, array[v_evidence], array[jsonb_build_object('reason', 'approval ' || p_state)]);
        return;
    end if;
    perform stepwell._must_apply(array[p_tenant_id], array[p_proposal_id], 'approved', 'reviewer', 'rpc', 'proposal_decide',
        p_actor, array[v_evidence]);
    perform stepwell._policy_put(v_policy, p_actor, p_approval_id);
    perform stepwell._must_apply(array[p_tenant_id], array[p_proposal_id], 'merged', 'system', 'rpc', 'proposal_merge',
        'engine', array[v_evidence]);
end
$$;
