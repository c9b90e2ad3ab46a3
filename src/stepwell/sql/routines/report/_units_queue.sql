-- Purpose: makes units claimable whose state does not change with it: retries that are due, delayed jobs, units of a
--   resumed run, and those with a concurrency key, which enter when a slot is free and stand in line otherwise.
-- Locks: concurrency_slot rows in key order (the caller holds the runs).
-- Idempotency: a unit already queued stays queued once.
-- Raises: nothing.
create or replace function stepwell._units_queue(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_limited boolean;
begin
    with wanted as (
        select u.tenant_id, u.class_id, -u.priority as rank, u.unit_id, u.slot_key, u.state_code = 'failed' as is_retry
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        left join stepwell.run_progress as p on u.tenant_id = p.tenant_id and u.unit_id >> 20 = p.run_id
        where u.class_id is not null and p.frozen_at is null
    ), queued as (
        insert into stepwell.job_ready (tenant_id, class_id, rank, unit_id, is_retry)
        select w.tenant_id, w.class_id, w.rank, w.unit_id, w.is_retry
        from wanted as w
        where w.slot_key is null
        on conflict do nothing
    )
    select bool_or(w.slot_key is not null) into v_limited from wanted as w;
    if v_limited then
        perform stepwell._slots_take(p_tenant_ids, p_unit_ids);
    end if;
end
$$;
