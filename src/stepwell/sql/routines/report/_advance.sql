-- Purpose: steps that completed (or were skipped) release their successors; those with nothing left to wait for
--   become ready. O(out-degree) per step.
-- Locks: the caller holds the runs.
-- Idempotency: each settled step is handed in once.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._advance(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_free record;
begin
    with released as (
        select u.tenant_id, u.unit_id + r.to_no - u.def_no as unit_id, count(*)::int as released_count
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id and u.scope = 'step'
        inner join stepwell.workflow_step_relations as r
            on u.tenant_id = r.tenant_id and u.version_id = r.version_id and u.def_no = r.from_no
        group by 1, 2
    ), waiting as materialized (
        select d.tenant_id, d.unit_id, d.released_count, s.ctid as row_id, s.pending_count, s.class_id, s.slot_key
        from released as d
        inner join stepwell.work_unit as s on d.tenant_id = s.tenant_id and d.unit_id = s.unit_id
        where s.state_code = 'not_started'
    ), joins as (
        update stepwell.work_unit as s set pending_count = s.pending_count - w.released_count
        from waiting as w
        where w.pending_count > w.released_count and s.ctid = w.row_id
    )
    select
        array_agg(w.tenant_id order by w.unit_id) as tenant_ids, array_agg(w.unit_id order by w.unit_id) as unit_ids,
        array_agg(w.released_count order by w.unit_id) as released_counts,
        bool_or(w.class_id is null) as has_engine_steps, bool_or(w.slot_key is not null) as has_slots
    into v_free
    from waiting as w
    where w.pending_count = w.released_count;
    perform stepwell._units_ready(v_free.tenant_ids, v_free.unit_ids, v_free.released_counts, v_free.has_engine_steps,
        v_free.has_slots);
end
$$;
