-- Purpose: a person has found out whether an effect happened that nobody could tell: confirmed or void. The step that waits
--   for it goes on: with the result, or by making the effect.
-- Locks: the run or job, then the receipt.
-- Idempotency: the same word again changes nothing.
-- Raises: SW001 for an unknown word; SW002 when there is no such receipt; SW003 when it is not in doubt; SW007 for another
--   tenant.
create or replace function stepwell.fn_receipt_settle(
    p_tenant_id int, p_receipt_id bigint, p_outcome text, p_actor text, p_reason text, p_external_id text default null
) returns text
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_receipt stepwell.action_receipt;
    v_state text;
begin
    perform stepwell._tenant_bound(p_tenant_id);
    if p_outcome is null or p_outcome not in ('confirmed', 'void') or coalesce(btrim(p_reason), '') = '' then
        raise exception using errcode = 'SW001', column = 'outcome',
            message = 'outcome: confirmed or void is accepted; reason: how it is known must be said';
    end if;
    select r.* into v_receipt from stepwell.action_receipt as r
    where r.tenant_id = p_tenant_id and r.receipt_id = p_receipt_id;
    if not found then
        raise exception using errcode = 'SW002', message = format('receipt %s does not exist', p_receipt_id);
    end if;
    perform stepwell._stream_lock(array[p_tenant_id, p_tenant_id, p_tenant_id],
        array[v_receipt.unit_id, p_receipt_id, coalesce(v_receipt.reverses_receipt_id, p_receipt_id)]);
    select u.state_code into v_state from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = p_receipt_id;
    if v_state = p_outcome then
        return v_state;
    end if;
    if v_state = 'intended' and not exists (select from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id = v_receipt.unit_id and u.lease_no = v_receipt.lease_no
            and u.lease_session_id is not null) then
        -- Whoever was making it has ended without a word.
        perform stepwell._must_apply(array[p_tenant_id], array[p_receipt_id], 'unconfirmed', 'system', 'event', 'lease_lost',
            'engine');
    elsif v_state <> 'unconfirmed' then
        raise exception using errcode = 'SW003', message = format('receipt %s is %s; only one in doubt is settled by hand',
            p_receipt_id, v_state);
    end if;
    perform stepwell._must_apply(array[p_tenant_id], array[p_receipt_id], p_outcome, 'reviewer', 'rpc', 'receipt_settle',
        p_actor, array[jsonb_build_object('audit_ref', 'actor:' || p_actor)], array[jsonb_build_object('reason', p_reason)]);
    perform stepwell._receipt_close(v_receipt, p_outcome, jsonb_strip_nulls(jsonb_build_object('external_id', p_external_id,
        'reason', p_reason)), p_actor);
    perform stepwell._news_deliver(p_tenant_id, v_receipt.unit_id, format('receipt.settled.%s.%s', p_receipt_id,
        v_receipt.try_count), jsonb_build_object('receipt_id', p_receipt_id, 'state', p_outcome));
    return p_outcome;
end
$$;
