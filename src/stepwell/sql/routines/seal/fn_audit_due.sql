-- Purpose: the tenants whose log has something to seal, the one sealed longest ago first, and how often to look; none
--   when sealing is switched off.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_audit_due(p_limit int default 1000)
returns table (interval_seconds int, tenant_ids int[])
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_interval constant int := stepwell._limit('audit.seal_interval_seconds');
begin
    return query
    select v_interval, array(
        select t.tenant_id
        from stepwell.tenant as t
        left join stepwell.audit_chain as c on t.tenant_id = c.tenant_id
        where v_interval > 0
            and exists (select from stepwell.event_log as e
                where e.tenant_id = t.tenant_id and e.tx < pg_snapshot_xmin(pg_current_snapshot())
                    and (e.tx, e.event_id) > (coalesce(c.last_tx, '0'), coalesce(c.last_event_id, 0)))
        order by c.sealed_at nulls first, t.tenant_id
        limit p_limit);
end
$$;
