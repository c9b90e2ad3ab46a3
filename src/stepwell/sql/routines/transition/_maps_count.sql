-- Purpose: maps count the steps of their items that are not settled: one less for each that settled, one more for each that
--   opened again.
-- Locks: the map units; the caller holds their run.
-- Idempotency: none; called once with the change it counts.
-- Raises: nothing.
create or replace function stepwell._maps_count(p_changes stepwell.unit_change[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    update stepwell.work_unit as m set pending_count = m.pending_count + d.open_count
    from (
        select q.tenant_id, q.map_id, sum(q.open_count)::int as open_count
        from unnest(p_changes) as q
        where q.map_id is not null
        group by q.tenant_id, q.map_id
    ) as d
    where m.tenant_id = d.tenant_id and m.unit_id = d.map_id;
end
$$;
