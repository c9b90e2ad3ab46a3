-- Purpose: removes ended free-standing jobs past their retention; one whose dead letter nobody settled stays longer.
-- Locks: the units it removes, skipping those in use.
-- Idempotency: yes.
-- Raises: nothing.
create or replace function stepwell._retention_jobs(p_now timestamptz, p_limit int) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_cutoff constant timestamptz := p_now - make_interval(days => stepwell._limit('retention.run_days'));
    v_letter_cutoff constant timestamptz := p_now - make_interval(days => stepwell._limit('retention.dead_letter_days'));
    v_tenant_ids int[];
    v_job_ids bigint[];
begin
    select array_agg(x.tenant_id), array_agg(x.unit_id)
    into v_tenant_ids, v_job_ids
    from (
        select u.tenant_id, u.unit_id
        from stepwell.job_detail as j
        inner join stepwell.work_unit as u on j.tenant_id = u.tenant_id and j.job_id = u.unit_id
        where j.created_at < v_cutoff and u.completed_at < v_cutoff
            and not exists (select from stepwell.job_dead_letter as d
                where d.tenant_id = u.tenant_id and d.unit_id = u.unit_id
                    and d.resolved_at is null and d.died_at >= v_letter_cutoff)
        order by u.tenant_id, u.unit_id
        limit p_limit
        for update of u skip locked
    ) as x;
    if v_job_ids is null then
        return 0;
    end if;
    perform stepwell._streams_delete(v_tenant_ids, array(select j >> 20 from unnest(v_job_ids) as j));
    delete from stepwell.job_detail as d using unnest(v_tenant_ids, v_job_ids) as q (tenant_id, job_id)
    where d.tenant_id = q.tenant_id and d.job_id = q.job_id;
    return cardinality(v_job_ids);
end
$$;
