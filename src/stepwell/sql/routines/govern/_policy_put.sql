-- Purpose: puts a rule set in force, with its event.
-- Locks: the row of the tenant in policy_active; the caller holds the proposal.
-- Idempotency: none; callers ask once.
-- Raises: SW003 when the rules in force are not those the proposal was compared with.
create or replace function stepwell._policy_put(p_policy stepwell.policy_set, p_actor text, p_approval_id bigint) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    if p_policy.base_policy_set_id is null then
        insert into stepwell.policy_active (tenant_id, policy_set_id, activated_at, activated_by)
        values (p_policy.tenant_id, p_policy.policy_set_id, stepwell.now(), p_actor)
        on conflict (tenant_id) do nothing;
    else
        update stepwell.policy_active as a
        set policy_set_id = p_policy.policy_set_id, activated_at = stepwell.now(), activated_by = p_actor
        where a.tenant_id = p_policy.tenant_id and a.policy_set_id = p_policy.base_policy_set_id;
    end if;
    if not found then
        raise exception using errcode = 'SW003', message = format(
            'version %s was compared with rules that are no longer in force; propose it again', p_policy.version_no);
    end if;
    perform stepwell._event_append(p_policy.tenant_id, p_policy.proposal_id, 'policy.activated', p_actor,
        jsonb_strip_nulls(jsonb_build_object('version_no', p_policy.version_no, 'rules_hash', p_policy.rules_hash,
            'approval_id', p_approval_id)), 'reviewer');
end
$$;
