-- Purpose: ends what has nothing left to do: maps whose items have settled, then runs: completed, or failed when a
--   mandatory step could not. A run inside another one lends it its colour.
-- Locks: the caller holds the runs; the runs above a sub-workflow as _rollups_lend.
-- Idempotency: what has ended is passed over.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._runs_settle(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_ended record;
    v_looked boolean := false;
begin
    loop
        select
            array_agg(p.tenant_id) filter (where p.needs_attention) as attention_tenant_ids,
            array_agg(p.run_id) filter (where p.needs_attention) as attention_run_ids,
            array_agg(p.tenant_id) filter (where p.map_count > 0) as map_tenant_ids,
            array_agg(p.run_id) filter (where p.map_count > 0) as map_run_ids,
            array_agg(p.tenant_id) filter (where p.parent_run_id is not null) as child_tenant_ids,
            array_agg(p.run_id) filter (where p.parent_run_id is not null) as child_run_ids,
            array_agg(p.tenant_id order by p.run_id) filter (where p.open_count = 0 and p.failed_count = 0) as done_tenant_ids,
            array_agg(p.run_id << 20 order by p.run_id) filter (where p.open_count = 0 and p.failed_count = 0) as done_ids,
            array_agg(p.tenant_id order by p.run_id) filter (where p.open_count = 0 and p.failed_count > 0) as failed_tenant_ids,
            array_agg(p.run_id << 20 order by p.run_id) filter (where p.open_count = 0 and p.failed_count > 0) as failed_ids
        into v_ended
        from (
            select distinct q.tenant_id, q.unit_id >> 20 as run_id
            from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        ) as s
        inner join stepwell.run_progress as p on s.tenant_id = p.tenant_id and s.run_id = p.run_id
        where p.map_count > 0 or p.open_count = 0 or p.needs_attention or p.parent_run_id is not null;
        -- What people reopened or blocked may change with any other step; then count again.
        if v_ended.attention_run_ids is not null and not v_looked then
            v_looked := true;
            perform stepwell._attention_settle(a.tenant_id, a.run_id)
            from unnest(v_ended.attention_tenant_ids, v_ended.attention_run_ids) as a (tenant_id, run_id);
            continue;
        end if;
        v_looked := false;
        -- Maps first: a map that ends may release steps, or be the last thing that kept its run open.
        exit when v_ended.map_run_ids is null
            or stepwell._maps_settle(v_ended.map_tenant_ids, v_ended.map_run_ids) = 0;
    end loop;
    if v_ended.child_run_ids is not null then
        perform stepwell._rollups_lend(v_ended.child_tenant_ids, v_ended.child_run_ids);
    end if;
    if v_ended.done_ids is not null then
        perform stepwell._runs_end(v_ended.done_tenant_ids, v_ended.done_ids, 'completed', 'all_mandatory_steps_completed');
    end if;
    if v_ended.failed_ids is not null then
        perform stepwell._runs_end(v_ended.failed_tenant_ids, v_ended.failed_ids, 'failed', 'mandatory_step_cannot_complete');
    end if;
    if v_ended.attention_run_ids is not null and coalesce(v_ended.done_ids, v_ended.failed_ids) is not null then
        -- Questions about a run end with it.
        perform stepwell._attention_settle(a.tenant_id, a.run_id)
        from unnest(v_ended.attention_tenant_ids, v_ended.attention_run_ids) as a (tenant_id, run_id);
    end if;
end
$$;
