-- Purpose: failure flows along edges: every step that depends on these, directly or not, and has not started is
--   cancelled with reason upstream_failed. Siblings go on.
-- Locks: the caller holds the runs.
-- Idempotency: steps already settled are passed over.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._dependents_abort(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_tenant_ids int[];
    v_unit_ids bigint[];
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
        inner join stepwell.work_unit as s
            on s.tenant_id = d.tenant_id and s.unit_id = d.unit_id + r.to_no - d.def_no
        where s.state_code in ('not_started', 'ready')
    )
    select array_agg(d.tenant_id order by d.unit_id), array_agg(d.unit_id order by d.unit_id)
    into v_tenant_ids, v_unit_ids
    from down as d
    where not d.unit_id = any (p_unit_ids);
    if v_unit_ids is not null then
        perform stepwell._must_apply(v_tenant_ids, v_unit_ids, 'cancelled', 'mow_orchestrator', 'condition_resolved',
            'upstream_failed', 'engine', null,
            array_fill('{"reason": "upstream_failed"}'::jsonb, array[cardinality(v_unit_ids)]));
    end if;
end
$$;
