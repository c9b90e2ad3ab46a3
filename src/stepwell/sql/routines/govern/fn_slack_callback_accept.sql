-- Purpose: takes a signed callback once, while it is fresh. Who calls has checked the signature already.
-- Locks: the row of the signature.
-- Idempotency: none, on purpose: the second time is refused.
-- Raises: SW001 without a signature; SW003 when it was seen before; SW007 when it is too old or too new, or for another
--   tenant.
create or replace function stepwell.fn_slack_callback_accept(p_tenant_id int, p_signature text, p_sent_epoch bigint)
returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_window constant interval := make_interval(secs => stepwell._limit('slack.callback_seconds'));
begin
    perform stepwell._tenant_bound(p_tenant_id);
    if coalesce(length(p_signature), 0) not between 1 and 200 or p_sent_epoch not between 0 and 253402300799
        or p_sent_epoch is null then
        raise exception using errcode = 'SW001', column = 'signature', message = 'signature: a signature and its time are required';
    end if;
    if to_timestamp(p_sent_epoch) not between v_now - v_window and v_now + v_window then
        raise exception using errcode = 'SW007', message = 'the callback is not of these minutes',
            hint = 'check the clocks of the database and of this machine';
    end if;
    -- Older ones are refused by their time.
    delete from stepwell.slack_callback as c where c.tenant_id = p_tenant_id and c.seen_at < v_now - 3 * v_window;
    insert into stepwell.slack_callback (tenant_id, signature, seen_at) values (p_tenant_id, p_signature, v_now)
    on conflict do nothing;
    if not found then
        raise exception using errcode = 'SW003', message = 'the callback was seen before';
    end if;
end
$$;
