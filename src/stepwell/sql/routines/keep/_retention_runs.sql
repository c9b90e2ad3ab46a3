-- Purpose: removes ended runs past their retention. A run whose dead letter nobody settled stays longer, and so does one
--   inside a run that stays.
-- Locks: run_progress of the runs it removes, skipping those in use.
-- Idempotency: yes.
-- Raises: nothing.
create or replace function stepwell._retention_runs(p_now timestamptz, p_limit int) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_cutoff constant timestamptz := p_now - make_interval(days => stepwell._limit('retention.run_days'));
    v_letter_cutoff constant timestamptz := p_now - make_interval(days => stepwell._limit('retention.dead_letter_days'));
    v_tenant_ids int[];
    v_run_ids bigint[];
begin
    select array_agg(x.tenant_id), array_agg(x.run_id)
    into v_tenant_ids, v_run_ids
    from (
        select p.tenant_id, p.run_id
        from stepwell.run_detail as r
        inner join stepwell.run_progress as p on r.tenant_id = p.tenant_id and r.run_id = p.run_id
        where r.finished_at < v_cutoff
            and not exists (select from stepwell.run_detail as b
                where b.tenant_id = r.tenant_id and b.run_id = r.parent_unit_id >> 20
                    and (b.finished_at is null or b.finished_at >= v_cutoff))
            and not exists (select from stepwell.job_dead_letter as d
                where d.tenant_id = r.tenant_id and d.unit_id between r.run_id << 20 and ((r.run_id + 1) << 20) - 1
                    and d.resolved_at is null and d.died_at >= v_letter_cutoff)
        order by r.tenant_id, r.run_id
        limit p_limit
        for update of p skip locked
    ) as x;
    if v_run_ids is null then
        return 0;
    end if;
    perform stepwell._streams_delete(v_tenant_ids, v_run_ids);
    -- Limits of groups and maps belong to their run: run:<id>:…
    delete from stepwell.concurrency_slot as s
    using unnest(v_tenant_ids, v_run_ids) as q (tenant_id, run_id)
    where s.tenant_id = q.tenant_id and s.slot_key like 'run:%' and split_part(s.slot_key, ':', 2) = q.run_id::text;
    delete from stepwell.step_content_pin as c using unnest(v_tenant_ids, v_run_ids) as q (tenant_id, run_id)
    where c.tenant_id = q.tenant_id and c.run_id = q.run_id;
    delete from stepwell.run_progress as p using unnest(v_tenant_ids, v_run_ids) as q (tenant_id, run_id)
    where p.tenant_id = q.tenant_id and p.run_id = q.run_id;
    delete from stepwell.run_detail as r using unnest(v_tenant_ids, v_run_ids) as q (tenant_id, run_id)
    where r.tenant_id = q.tenant_id and r.run_id = q.run_id;
    return cardinality(v_run_ids);
end
$$;
