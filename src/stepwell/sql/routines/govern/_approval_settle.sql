-- Purpose: what follows from the end of an approval: a granted replay runs, an action goes on or its step fails, a change
--   of policy comes into force or does not. The one place where a kind of approval says what it is good for.
-- Locks: the caller holds the subject's run, or the subject itself, and the approval.
-- Idempotency: called once, by whoever ended it.
-- Raises: SW003 when what was approved no longer fits; SW004 when the registry refuses.
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
    if v_ended.action = 'replay' and v_ended.state_code = 'approved' then
        perform stepwell._replay_apply(p_tenant_id, p_approval_id, p_actor);
    elsif v_ended.action = 'act' then
        perform stepwell._action_decided(p_tenant_id, p_approval_id);
    elsif v_ended.action = 'proposal' then
        perform stepwell._policy_decided(p_tenant_id, p_approval_id, v_ended.subject_unit_id, v_ended.state_code, p_actor);
    end if;
end
$$;
