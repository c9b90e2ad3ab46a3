-- Purpose: what became ready becomes claimable with it, unless its run is paused.
-- Locks: only rows it inserts; the caller holds the runs.
-- Idempotency: a unit already queued stays queued once.
-- Raises: nothing.
create or replace function stepwell._ready_put(p_tenant_ids int[], p_class_ids int[], p_ranks int[], p_unit_ids bigint[])
returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    insert into stepwell.job_ready (tenant_id, class_id, rank, unit_id, is_retry)
    select q.tenant_id, q.class_id, q.rank, q.unit_id, false
    from unnest(p_tenant_ids, p_class_ids, p_ranks, p_unit_ids) as q (tenant_id, class_id, rank, unit_id)
    where not exists (select from stepwell.run_progress as p
        where p.tenant_id = q.tenant_id and p.run_id = q.unit_id >> 20 and p.frozen_at is not null)
    on conflict do nothing;
end
$$;
