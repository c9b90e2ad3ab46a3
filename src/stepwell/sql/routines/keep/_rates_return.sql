-- Purpose: entries of rate limits whose time has passed may be granted again: the next in line enter the queue. Returns how
--   many came back.
-- Locks: the tokens due, skipping those another keeper holds; then concurrency_slot rows in key order.
-- Idempotency: a token comes back once: it is deleted in the transaction that gives it back.
-- Raises: nothing.
create or replace function stepwell._rates_return(p_now timestamptz, p_limit int) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_back record;
begin
    with due as (
        select t.tenant_id, t.token_id from stepwell.rate_token as t
        where t.back_at <= p_now
        order by t.back_at limit p_limit
        for update skip locked
    ), gone as (
        delete from stepwell.rate_token as t
        using due as d
        where t.tenant_id = d.tenant_id and t.token_id = d.token_id
        returning t.tenant_id, t.slot_key, t.token_count
    ), key as (
        select g.tenant_id, g.slot_key, sum(g.token_count)::int as token_count
        from gone as g
        group by g.tenant_id, g.slot_key
    )
    select array_agg(k.tenant_id order by k.tenant_id, k.slot_key) as tenant_ids,
        array_agg(k.slot_key order by k.tenant_id, k.slot_key) as slot_keys,
        array_agg(k.token_count order by k.tenant_id, k.slot_key) as token_counts, sum(k.token_count)::int as back_count
    into v_back
    from key as k;
    perform stepwell._slots_fill(v_back.tenant_ids, v_back.slot_keys, null, v_back.token_counts);
    return coalesce(v_back.back_count, 0);
end
$$;
