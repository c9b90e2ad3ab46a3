-- Purpose: the rows that tell a worker which watched runs its report ended, and how: whoever waits in the worker's own
--   process need not ask again. The state stands in the place of the operation, the result in that of the input.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._ends_read(p_tenant_ids int[], p_unit_ids bigint[]) returns setof stepwell.job_lease
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return query
    select 'ended', r.tenant_id, r.run_id, null::int, null::bigint, r.finished_state, null::int, null::int, null::real,
        null, case when r.finished_state = 'completed' then stepwell._run_result(r.tenant_id, r.run_id) end,
        null::jsonb, null::jsonb, null::jsonb, null, null, null::timestamptz
    from (
        select distinct q.tenant_id, q.unit_id >> 20 as run_id
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    ) as s
    inner join stepwell.run_detail as r on s.tenant_id = r.tenant_id and s.run_id = r.run_id
    where r.is_watched and r.finished_at is not null;
end
$$;
