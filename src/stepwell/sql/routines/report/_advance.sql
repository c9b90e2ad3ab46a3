-- Purpose: steps that completed (or were skipped) release their successors; those with nothing left to wait for
--   become ready. O(out-degree) per step.
-- Locks: the caller holds the runs.
-- Idempotency: each settled step is handed in once.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._advance(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set random_page_cost = 0.01
as $$
declare
    v_tenant_ids int[];
    v_unit_ids bigint[];
    v_counts int[];
begin
    with released as (
        select q.tenant_id, q.unit_id + r.to_no - u.def_no as unit_id, count(*)::int as released_count
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        inner join stepwell.workflow_step_relations as r
            on u.tenant_id = r.tenant_id and u.version_id = r.version_id and u.def_no = r.from_no
        where u.scope = 'step'
        group by 1, 2
    ), waiting as materialized (
        select d.tenant_id, d.unit_id, d.released_count, s.pending_count
        from released as d
        inner join stepwell.work_unit as s on d.tenant_id = s.tenant_id and d.unit_id = s.unit_id
        where s.state_code = 'not_started'
    ), joins as (
        update stepwell.work_unit as s set pending_count = s.pending_count - w.released_count
        from waiting as w
        where w.pending_count > w.released_count and s.tenant_id = w.tenant_id and s.unit_id = w.unit_id
    )
    select
        array_agg(w.tenant_id order by w.unit_id), array_agg(w.unit_id order by w.unit_id),
        array_agg(w.released_count order by w.unit_id)
    into v_tenant_ids, v_unit_ids, v_counts
    from waiting as w
    where w.pending_count = w.released_count;
    perform stepwell._units_ready(v_tenant_ids, v_unit_ids, v_counts);
end
$$;
