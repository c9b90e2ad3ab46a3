-- Purpose: removes dead letters past their retention: those that were settled, and those whose unit is gone.
-- Locks: their rows.
-- Idempotency: yes.
-- Raises: nothing.
create or replace function stepwell._retention_letters(p_now timestamptz, p_limit int) returns bigint
language sql volatile
set search_path = stepwell, pg_temp
as $$
    with gone as (
        delete from stepwell.job_dead_letter as x
        where x.ctid = any (array(
            select d.ctid from stepwell.job_dead_letter as d
            where coalesce(d.resolved_at, d.died_at)
                    < p_now - make_interval(days => stepwell._limit('retention.dead_letter_days'))
                and (d.resolved_at is not null or not exists (
                    select from stepwell.work_unit as u where u.tenant_id = d.tenant_id and u.unit_id = d.unit_id))
            limit p_limit))
        returning 1
    )
    select count(*) from gone
$$;
