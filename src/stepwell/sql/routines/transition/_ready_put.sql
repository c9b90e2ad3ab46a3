-- Purpose: what became ready becomes claimable with it, unless its run is paused.
-- Locks: only rows it inserts; the caller holds the runs.
-- Idempotency: a unit already queued stays queued once.
-- Raises: nothing.
create or replace function stepwell._ready_put(p_changes stepwell.unit_change[])
returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    insert into stepwell.job_ready (tenant_id, class_id, rank, unit_id, is_retry)
    select q.tenant_id, q.class_id, q.rank, q.unit_id, false
    from unnest(p_changes) as q
    where q.class_id is not null and not exists (select from stepwell.run_progress as p
        where p.tenant_id = q.tenant_id and p.run_id = q.unit_id >> 20 and p.frozen_at is not null)
    on conflict do nothing;
end
$$;
