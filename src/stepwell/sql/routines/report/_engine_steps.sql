-- Purpose: ready steps that no worker carries out. A decision decides and opens one branch, or stays ready until all before
--   it has ended; a map makes its items, a sub-workflow starts its run, a wait parks for its event; a human step is opened,
--   and stays ready until a person claims it.
-- Locks: the caller holds the runs.
-- Idempotency: a step that is no longer ready is passed over.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._engine_steps(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_held_ids bigint[];
    v_kind record;
    v_due record;
begin
    perform stepwell._humans_open(p_tenant_ids, p_unit_ids);
    v_held_ids := stepwell._decisions_hold(p_tenant_ids, p_unit_ids);
    for v_kind in
        select d.step_kind, array_agg(u.tenant_id order by u.unit_id) as tenant_ids,
            array_agg(u.unit_id order by u.unit_id) as unit_ids
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        where u.state_code = 'ready' and d.step_kind in ('wait', 'subworkflow', 'decision', 'map')
            and not u.unit_id = any (v_held_ids)
        group by d.step_kind
        order by d.step_kind
    loop
        -- What was carried out before may have called these off.
        select array_agg(u.tenant_id order by u.unit_id) as tenant_ids, array_agg(u.unit_id order by u.unit_id) as unit_ids
        into v_due
        from unnest(v_kind.tenant_ids, v_kind.unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        where u.state_code = 'ready';
        continue when v_due.unit_ids is null;
        perform stepwell._must_apply(v_due.tenant_ids, v_due.unit_ids, 'in_progress', 'mow_orchestrator',
            'condition_resolved', null, 'engine');
        case v_kind.step_kind
            when 'decision' then perform stepwell._decisions_make(v_due.tenant_ids, v_due.unit_ids);
            when 'map' then perform stepwell._maps_open(v_due.tenant_ids, v_due.unit_ids);
            when 'subworkflow' then perform stepwell._subruns_start(v_due.tenant_ids, v_due.unit_ids);
            else perform stepwell._waits_open(v_due.tenant_ids, v_due.unit_ids);
        end case;
    end loop;
end
$$;
