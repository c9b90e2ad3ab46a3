-- Purpose: puts the first rule set of an empty installation in force without an approval: nobody could be asked yet. For
--   the operator, who alone can call it; afterwards every change needs its approval.
-- Locks: the proposal, then its approval, then the tenant's row in policy_active.
-- Idempotency: the version in force stays so.
-- Raises: SW002 when there is no such version; SW003 when another one is in force, or the proposal has ended; SW007 for
--   another tenant.
create or replace function stepwell.fn_policy_activate(p_tenant_id int, p_version_no int, p_actor text) returns text
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_policy stepwell.policy_set;
    v_active_no int;
begin
    perform stepwell._tenant_bound(p_tenant_id);
    select s.* into v_policy from stepwell.policy_set as s
    where s.tenant_id = p_tenant_id and s.version_no = p_version_no;
    if not found then
        raise exception using errcode = 'SW002', message = format('policy version %s does not exist', p_version_no);
    end if;
    perform stepwell._stream_lock(array[p_tenant_id, p_tenant_id], array[v_policy.proposal_id, v_policy.approval_id]);
    select s.version_no into v_active_no
    from stepwell.policy_active as a
    inner join stepwell.policy_set as s on a.tenant_id = s.tenant_id and a.policy_set_id = s.policy_set_id
    where a.tenant_id = p_tenant_id;
    if v_active_no = p_version_no then
        return 'active';
    end if;
    if v_active_no is not null then
        raise exception using errcode = 'SW003', message = format(
            'version %s is in force; version %s takes its place when approval %s is granted', v_active_no, p_version_no,
            v_policy.approval_id);
    end if;
    if not exists (select from stepwell.work_unit as u where u.tenant_id = p_tenant_id
        and u.unit_id = v_policy.proposal_id and u.state_code = 'review') then
        raise exception using errcode = 'SW003', message = format('the proposal of version %s has ended', p_version_no);
    end if;
    perform stepwell._must_apply(array[p_tenant_id], array[v_policy.proposal_id], 'merged', 'system', 'rpc',
        'policy_activate', p_actor, array[jsonb_build_object('audit_ref', 'actor:' || p_actor)]);
    perform stepwell._policy_put(v_policy, p_actor, null);
    perform stepwell._must_apply(array[p_tenant_id], array[v_policy.approval_id], 'cancelled', 'system',
        'condition_resolved', 'subject_ended', p_actor);
    perform stepwell._approvals_close(array[p_tenant_id], array[v_policy.approval_id], p_actor);
    return 'active';
end
$$;
