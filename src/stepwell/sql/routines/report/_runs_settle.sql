-- Purpose: ends the runs in which nothing is left to do: completed, or failed when a mandatory step could not.
-- Locks: the caller holds the runs.
-- Idempotency: a run that has ended is passed over.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._runs_settle(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_ended record;
    v_mapped record;
begin
    -- Maps first: a map that ends may release steps, or be the last thing that kept its run open.
    loop
        select array_agg(p.tenant_id) as tenant_ids, array_agg(p.run_id) as run_ids
        into v_mapped
        from (
            select distinct q.tenant_id, q.unit_id >> 20 as run_id
            from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        ) as s
        inner join stepwell.run_progress as p on s.tenant_id = p.tenant_id and s.run_id = p.run_id
        where p.map_count > 0;
        exit when v_mapped.run_ids is null or stepwell._maps_settle(v_mapped.tenant_ids, v_mapped.run_ids) = 0;
    end loop;
    select
        array_agg(p.tenant_id order by p.run_id) filter (where p.failed_count = 0) as done_tenant_ids,
        array_agg(p.run_id << 20 order by p.run_id) filter (where p.failed_count = 0) as done_ids,
        array_agg(p.tenant_id order by p.run_id) filter (where p.failed_count > 0) as failed_tenant_ids,
        array_agg(p.run_id << 20 order by p.run_id) filter (where p.failed_count > 0) as failed_ids
    into v_ended
    from (
        select distinct q.tenant_id, q.unit_id >> 20 as run_id
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    ) as s
    inner join stepwell.run_progress as p on s.tenant_id = p.tenant_id and s.run_id = p.run_id
    inner join stepwell.work_unit as u on p.tenant_id = u.tenant_id and p.run_id << 20 = u.unit_id
    where p.open_count = 0 and u.state_code = 'in_progress';
    if v_ended.done_ids is null and v_ended.failed_ids is null then
        return;
    end if;
    perform stepwell._must_apply(v_ended.done_tenant_ids, v_ended.done_ids, 'completed', 'system',
        'condition_resolved', 'all_mandatory_steps_completed', 'engine');
    perform stepwell._must_apply(v_ended.failed_tenant_ids, v_ended.failed_ids, 'failed', 'system',
        'condition_resolved', 'mandatory_step_cannot_complete', 'engine');
    update stepwell.run_detail as r set finished_state = u.state_code, finished_at = u.last_transition_at
    from unnest(v_ended.done_tenant_ids || v_ended.failed_tenant_ids, v_ended.done_ids || v_ended.failed_ids)
        as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where r.tenant_id = q.tenant_id and r.run_id = q.unit_id >> 20;
    perform stepwell._subruns_end(
        v_ended.done_tenant_ids || v_ended.failed_tenant_ids, v_ended.done_ids || v_ended.failed_ids);
end
$$;
