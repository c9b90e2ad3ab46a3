-- Purpose: who asked takes the question back; what waited for it does not go on.
-- Locks: the run or job it is about, then the approval.
-- Idempotency: a withdrawn approval stays so.
-- Raises: SW002 when there is no such approval; SW003 when it is decided; SW007 when somebody else asked, or for
--   another tenant.
create or replace function stepwell.fn_approval_withdraw(
    p_tenant_id int, p_approval_id bigint, p_actor text, p_reason text default null
) returns text
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_approval record;
begin
    perform stepwell._tenant_bound(p_tenant_id);
    perform stepwell._stream_lock(array_agg(a.tenant_id) || p_tenant_id, array_agg(a.subject_unit_id) || p_approval_id)
    from stepwell.approval_detail as a
    where a.tenant_id = p_tenant_id and a.approval_id = p_approval_id;
    select a.requested_by, u.state_code into v_approval
    from stepwell.approval_detail as a
    inner join stepwell.work_unit as u on a.tenant_id = u.tenant_id and a.approval_id = u.unit_id
    where a.tenant_id = p_tenant_id and a.approval_id = p_approval_id;
    if not found then
        raise exception using errcode = 'SW002', message = format('approval %s does not exist', p_approval_id);
    end if;
    if stepwell._actor_plain(v_approval.requested_by) <> stepwell._actor_plain(p_actor) then
        raise exception using errcode = 'SW007', message = 'only who asked for an approval can take it back';
    end if;
    if v_approval.state_code = 'cancelled' then
        return 'cancelled';
    end if;
    if v_approval.state_code <> 'requested' then
        raise exception using errcode = 'SW003', message = format('approval %s is %s', p_approval_id, v_approval.state_code);
    end if;
    perform stepwell._must_apply(array[p_tenant_id], array[p_approval_id], 'cancelled', 'pic_human', 'rpc',
        'approval_withdraw', p_actor, array[jsonb_build_object('audit_ref', 'person:' || p_actor)],
        array[jsonb_strip_nulls(jsonb_build_object('reason', p_reason))]);
    perform stepwell._approvals_close(array[p_tenant_id], array[p_approval_id], p_actor);
    perform stepwell._approval_settle(p_tenant_id, p_approval_id, p_actor);
    return 'cancelled';
end
$$;
