-- Purpose: maps count the steps of their items that are not settled: one less for each that settled, one more for each that
--   opened again. Returns how many maps were counted.
-- Locks: the map units; the caller holds their run.
-- Idempotency: none; called once with the change it counts.
-- Raises: nothing.
create or replace function stepwell._maps_count(p_tenant_id int, p_settled_in bigint[], p_opened_in bigint[]) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_count int;
begin
    update stepwell.work_unit as m set pending_count = m.pending_count + d.open_count
    from (
        select q.map_id, sum(q.open_count)::int as open_count
        from (
            select s, -1 from unnest(p_settled_in) as s
            union all
            select o, 1 from unnest(p_opened_in) as o
        ) as q (map_id, open_count)
        group by q.map_id
    ) as d
    where m.tenant_id = p_tenant_id and m.unit_id = d.map_id;
    get diagnostics v_count = row_count;
    return v_count;
end
$$;
