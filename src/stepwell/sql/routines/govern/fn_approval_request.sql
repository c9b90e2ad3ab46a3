-- Purpose: puts a question to the reviewers: may this be done to this step or run? One or two of them must agree, in time.
-- Locks: none beyond the new rows.
-- Idempotency: by key: the same key returns the approval it made.
-- Raises: SW001 for a quorum or a time that is not accepted; SW002 when there is no such step or run;
--   SW007 for another tenant.
create or replace function stepwell.fn_approval_request(
    p_tenant_id int, p_action text, p_subject_unit_id bigint, p_actor text, p_reason text default null,
    p_quorum int default 1, p_expires_seconds int default null, p_key text default null
) returns bigint
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_approval_id bigint;
begin
    perform stepwell._tenant_bound(p_tenant_id);
    if p_quorum not between 1 and 2 or p_expires_seconds not between 1 and 31536000 then
        raise exception using errcode = 'SW001', column = 'quorum',
            message = 'quorum: 1 or 2 is accepted; expires_seconds: 1 to 31536000';
    end if;
    if p_action is null or p_action !~ '^[a-z][a-z0-9_.]{0,99}$' then
        raise exception using errcode = 'SW001', column = 'action', message = 'action: a plain word such as reopen is accepted';
    end if;
    select a.approval_id into v_approval_id from stepwell.approval_detail as a
    where a.tenant_id = p_tenant_id and a.request_key = p_key;
    if found then
        return v_approval_id;
    end if;
    if not exists (select from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_subject_unit_id) then
        raise exception using errcode = 'SW002', message = format('unit %s does not exist', p_subject_unit_id);
    end if;
    v_approval_id := stepwell._approval_request(p_tenant_id, p_action, p_subject_unit_id, p_actor, p_reason);
    update stepwell.approval_detail as a set quorum = p_quorum, request_key = p_key,
        expires_at = coalesce(a.requested_at + make_interval(secs => p_expires_seconds), a.expires_at)
    where a.tenant_id = p_tenant_id and a.approval_id = v_approval_id;
    update stepwell.work_unit as u set deadline_at = a.expires_at
    from stepwell.approval_detail as a
    where u.tenant_id = p_tenant_id and u.unit_id = v_approval_id and a.tenant_id = u.tenant_id and a.approval_id = u.unit_id;
    update stepwell.timer as t set due_at = a.expires_at
    from stepwell.approval_detail as a
    where t.tenant_id = p_tenant_id and t.unit_id = v_approval_id and a.tenant_id = t.tenant_id and a.approval_id = t.unit_id;
    return v_approval_id;
end
$$;
