-- Purpose: what came of an effect that was intended: confirmed with what happened, void when it surely did not happen,
--   unconfirmed when nobody knows. Taken from whoever holds the receipt, also after the unit's lease was lost: an effect
--   that happened has happened.
-- Locks: the receipt and the one it reverses, in id order; then the run's write count.
-- Idempotency: the same outcome again changes nothing and hands back what is kept.
-- Raises: SW001 for an unknown outcome; SW003 when it is settled otherwise; SW005 when another attempt holds the receipt;
--   SW007 for another tenant.
create or replace function stepwell.fn_action_settle(
    p_session_id bigint, p_tenant_id int, p_unit_id bigint, p_lease_no int, p_receipt_id bigint, p_outcome text,
    p_effect jsonb default '{}'
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_receipt stepwell.action_receipt;
    v_state text;
begin
    perform stepwell._tenant_bound(p_tenant_id);
    if p_outcome is null or p_outcome not in ('confirmed', 'void', 'unconfirmed') then
        raise exception using errcode = 'SW001', column = 'outcome', message = 'outcome: confirmed, void or unconfirmed is accepted';
    end if;
    perform 1 from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id in (p_receipt_id, (select r.reverses_receipt_id
        from stepwell.action_receipt as r where r.tenant_id = p_tenant_id and r.receipt_id = p_receipt_id))
    order by u.unit_id
    for update;
    select r.* into v_receipt from stepwell.action_receipt as r
    where r.tenant_id = p_tenant_id and r.receipt_id = p_receipt_id;
    select u.state_code into v_state from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = p_receipt_id;
    if v_receipt.unit_id is distinct from p_unit_id or v_receipt.lease_no is distinct from p_lease_no then
        raise exception using errcode = 'SW005', message = format('receipt %s is in the hands of another attempt', p_receipt_id);
    end if;
    if v_state <> p_outcome then
        if v_state not in ('intended', 'unconfirmed') then
            raise exception using errcode = 'SW003', message = format('receipt %s is %s', p_receipt_id, v_state);
        end if;
        perform stepwell._must_apply(array[p_tenant_id], array[p_receipt_id], p_outcome, 'executor_worker', 'rpc',
            'action_settle', null, null, array[jsonb_strip_nulls(jsonb_build_object('reason', p_effect ->> 'reason'))],
            p_session_id => p_session_id);
        perform stepwell._receipt_close(v_receipt, p_outcome, p_effect, 'session:' || p_session_id);
    end if;
    return jsonb_build_object('state', p_outcome, 'event', format('receipt.settled.%s.%s', p_receipt_id, v_receipt.try_count),
        'result', (select r.response_metadata -> 'result'
            from stepwell.action_receipt as r where r.tenant_id = p_tenant_id and r.receipt_id = p_receipt_id));
end
$$;
