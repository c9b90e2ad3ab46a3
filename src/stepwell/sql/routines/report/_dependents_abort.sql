-- Purpose: failure flows along edges: every step that depends on these, directly or not, and has not started is
--   cancelled with reason upstream_failed; siblings go on. A decision whose test reads the failed step is an error
--   boundary: it is released instead, and decides.
-- Locks: the caller holds the runs.
-- Idempotency: steps already settled are passed over.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._dependents_abort(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_gone record;
    v_free record;
begin
    with recursive down as (
        select u.tenant_id, u.unit_id, u.version_id, u.def_no
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        where u.scope = 'step'
        union
        select s.tenant_id, s.unit_id, s.version_id, s.def_no
        from down as d
        inner join stepwell.workflow_step_relations as r
            on d.tenant_id = r.tenant_id and d.version_id = r.version_id and d.def_no = r.from_no
        inner join stepwell.workflow_step_def as f
            on r.tenant_id = f.tenant_id and r.version_id = f.version_id and r.to_no = f.step_no
        inner join stepwell.work_unit as s
            on s.tenant_id = d.tenant_id and s.unit_id = d.unit_id + r.to_no - d.def_no
        where s.state_code in ('not_started', 'ready')
            and not (f.step_kind = 'decision' and coalesce(f.config -> 'reads' @> to_jsonb(d.def_no), false))
    )
    select
        array_agg(d.tenant_id order by d.unit_id) as all_tenant_ids, array_agg(d.unit_id order by d.unit_id) as all_ids,
        array_agg(d.tenant_id order by d.unit_id) filter (where not d.unit_id = any (p_unit_ids)) as tenant_ids,
        array_agg(d.unit_id order by d.unit_id) filter (where not d.unit_id = any (p_unit_ids)) as unit_ids
    into v_gone
    from down as d;
    if v_gone.unit_ids is not null then
        perform stepwell._units_dequeue(v_gone.tenant_ids, v_gone.unit_ids);
        perform stepwell._must_apply(v_gone.tenant_ids, v_gone.unit_ids, 'cancelled', 'mow_orchestrator',
            'condition_resolved', 'upstream_failed', 'engine', null,
            array_fill('{"reason": "upstream_failed"}'::jsonb, array[cardinality(v_gone.unit_ids)]));
        perform stepwell._tasks_cancel(v_gone.tenant_ids, v_gone.unit_ids);
    end if;
    with released as (
        select s.tenant_id, s.unit_id, s.pending_count, count(*)::int as released_count
        from unnest(v_gone.all_tenant_ids, v_gone.all_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        inner join stepwell.workflow_step_relations as r
            on u.tenant_id = r.tenant_id and u.version_id = r.version_id and u.def_no = r.from_no
        inner join stepwell.work_unit as s
            on s.tenant_id = u.tenant_id and s.unit_id = u.unit_id + r.to_no - u.def_no and s.state_code = 'not_started'
        group by s.tenant_id, s.unit_id, s.pending_count
    ), counted as (
        update stepwell.work_unit as s set pending_count = s.pending_count - x.released_count
        from released as x
        where x.pending_count > x.released_count and s.tenant_id = x.tenant_id and s.unit_id = x.unit_id
    )
    select array_agg(x.tenant_id order by x.unit_id) as tenant_ids, array_agg(x.unit_id order by x.unit_id) as unit_ids,
        array_agg(x.released_count order by x.unit_id) as released_counts
    into v_free
    from released as x
    where x.pending_count = x.released_count;
    if v_free.unit_ids is not null then
        perform stepwell._units_ready(v_free.tenant_ids, v_free.unit_ids, v_free.released_counts, true, false);
    end if;
end
$$;
