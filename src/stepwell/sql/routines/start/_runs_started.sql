-- Purpose: the runs a start answers with, in the order they were asked for: the new ones, and for a trigger seen before the
--   run it started then.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._runs_started(
    p_tenant_id int, p_trigger_type text, p_trigger_refs text[], p_new_ids bigint[]
) returns table (run_id bigint, is_new boolean)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    if p_trigger_refs is null then
        return query select n.run_id, true from unnest(p_new_ids) as n (run_id) order by n.run_id;
        return;
    end if;
    return query
    select r.run_id, coalesce(r.run_id = any (p_new_ids), false)
    from unnest(p_trigger_refs) with ordinality as q (trigger_ref, ord)
    inner join stepwell.run_detail as r
        on r.tenant_id = p_tenant_id and r.trigger_type = p_trigger_type and r.trigger_ref = q.trigger_ref
    order by q.ord;
end
$$;
