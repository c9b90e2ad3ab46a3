-- How far the seal of each tenant's log is: blocks, the oldest event without one, and an anchor that could not be told.
create or replace view stepwell.v_audit_seal with (security_invoker = true) as
select
    t.tenant_id,
    t.tenant_code,
    c.chain_id,
    coalesce(c.block_count, 0) as block_count,
    c.sealed_at,
    (
        select e.at
        from stepwell.event_log as e
        where e.tenant_id = t.tenant_id
            and (e.tx, e.event_id) > (coalesce(c.last_tx, '0'), coalesce(c.last_event_id, 0))
        order by e.tx, e.event_id
        limit 1
    ) as unsealed_since,
    (
        select string_agg(a.anchor || ': ' || a.last_error, '; ' order by a.anchor)
        from stepwell.audit_anchor as a
        where a.tenant_id = t.tenant_id and a.last_error is not null
    ) as anchor_error
from stepwell.tenant as t
left join stepwell.audit_chain as c on t.tenant_id = c.tenant_id;
