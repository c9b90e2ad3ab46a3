-- Purpose: writes down when and how runs ended, and tells those who wait for it.
-- Locks: the runs' particulars; the caller holds the runs.
-- Idempotency: the last end counts.
-- Raises: nothing.
create or replace function stepwell._runs_finish(p_tenant_ids int[], p_run_ids bigint[], p_state text) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_told_count int;
begin
    with finished as (
        update stepwell.run_detail as r set finished_state = p_state, finished_at = stepwell.now()
        from unnest(p_tenant_ids, p_run_ids) as q (tenant_id, run_id)
        where r.tenant_id = q.tenant_id and r.run_id = q.run_id
        returning r.run_id, r.is_watched
    )
    select count(pg_notify('stepwell_ended', f.run_id::text)) into v_told_count
    from finished as f
    where f.is_watched;
end
$$;
