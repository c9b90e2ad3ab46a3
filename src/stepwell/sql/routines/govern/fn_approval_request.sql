-- Purpose: puts a question to the reviewers: may this be done to this step or run? One or two of them must agree, in time;
--   anybody but who asks and who acts, or only those who are named, or only those with a role.
-- Locks: none beyond the new rows.
-- Idempotency: by key: the same key returns the approval it made.
-- Raises: SW001 for a quorum, tier, time or list that is not accepted; SW002 when there is no such step or run; SW003 when
--   its run is cancelled, or is to be cancelled and has completed; SW007 for another tenant.
create or replace function stepwell.fn_approval_request(
    p_tenant_id int, p_action text, p_subject_unit_id bigint, p_actor text, p_reason text default null,
    p_quorum int default 1, p_expires_seconds int default null, p_key text default null, p_tier int default 1,
    p_approvers text[] default null, p_role text default null
) returns bigint
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_approval_id bigint;
    v_run_state text;
begin
    perform stepwell._tenant_bound(p_tenant_id);
    if p_quorum not between 1 and 2 or p_expires_seconds not between 1 and 31536000 or p_tier not between 1 and 3 then
        raise exception using errcode = 'SW001', column = 'quorum',
            message = 'quorum: 1 or 2 is accepted; tier: 1 (low), 2 (med) or 3 (high); expires_seconds: 1 to 31536000';
    end if;
    if cardinality(p_approvers) not between 1 and 50 or cardinality(p_approvers) < p_quorum and p_role is null then
        raise exception using errcode = 'SW001', column = 'approvers',
            message = 'approvers: 1 to 50 names are accepted, and no fewer than must agree';
    end if;
    if p_action is null or p_action !~ '^[a-z][a-z0-9_.]{0,99}$' then
        raise exception using errcode = 'SW001', column = 'action', message = 'action: a plain word such as reopen is accepted';
    end if;
    select a.approval_id into v_approval_id from stepwell.approval_detail as a
    where a.tenant_id = p_tenant_id and a.request_key = p_key;
    if found then
        return v_approval_id;
    end if;
    if p_action = 'act' then
        raise exception using errcode = 'SW001', column = 'action',
            message = 'action: an approval to act is asked for by the action itself';
    end if;
    if not exists (select from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_subject_unit_id) then
        raise exception using errcode = 'SW002', message = format('unit %s does not exist', p_subject_unit_id);
    end if;
    select r.state_code into v_run_state from stepwell.work_unit as r
    where r.tenant_id = p_tenant_id and r.scope = 'workflow_run' and r.unit_id = (p_subject_unit_id >> 20) << 20;
    if v_run_state = 'cancelled' then
        raise exception using errcode = 'SW003',
            message = format('run %s is cancelled: nothing more is done to it', p_subject_unit_id >> 20);
    end if;
    if v_run_state = 'completed' and p_action = 'workflow_cancel' then
        raise exception using errcode = 'SW003', message = format('run %s has already completed', p_subject_unit_id >> 20);
    end if;
    return stepwell._approval_request(p_tenant_id, p_action, p_subject_unit_id, p_actor, p_reason, p_tier, p_quorum,
        p_expires_seconds, p_key, null, p_approvers, p_role);
end
$$;
