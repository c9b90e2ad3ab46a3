-- Purpose: ready steps that no worker carries out: a Wait parks for its event, a sub-workflow starts its run. A human
--   step stays ready until a person claims it.
-- Locks: the caller holds the runs.
-- Idempotency: a step that is no longer ready is refused by the registry.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._engine_steps(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_part record;
    v_wait record;
begin
    select array_agg(u.tenant_id order by u.unit_id) as tenant_ids, array_agg(u.unit_id order by u.unit_id) as unit_ids
    into v_part
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    inner join stepwell.workflow_step_def as d
        on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    where d.step_kind in ('wait', 'subworkflow');
    if v_part.unit_ids is null then
        return;
    end if;
    perform stepwell._must_apply(v_part.tenant_ids, v_part.unit_ids, 'in_progress', 'mow_orchestrator',
        'condition_resolved', null, 'engine');
    perform stepwell._must_apply(v_part.tenant_ids, v_part.unit_ids, 'waiting', 'mow_orchestrator', 'condition_resolved',
        null, 'engine', null, array(
            select jsonb_strip_nulls(jsonb_build_object(
                'waiting_facet', case d.step_kind when 'subworkflow' then 'waiting_dependency' else 'waiting_external' end,
                'event_type', d.config ->> 'event'))
            from unnest(v_part.tenant_ids, v_part.unit_ids) with ordinality as q (tenant_id, unit_id, ord)
            inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
            inner join stepwell.workflow_step_def as d
                on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
            order by q.ord));
    for v_wait in
        select u.tenant_id, u.unit_id, d.step_kind, d.config, d.timeout_seconds, d.inputs
        from unnest(v_part.tenant_ids, v_part.unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        order by u.unit_id
    loop
        if v_wait.timeout_seconds is not null then
            insert into stepwell.timer (tenant_id, unit_id, timer_kind, due_at)
            values (v_wait.tenant_id, v_wait.unit_id, 'wait_timeout',
                v_now + make_interval(secs => v_wait.timeout_seconds));
        end if;
        if v_wait.step_kind = 'wait' then
            insert into stepwell.event_wait (tenant_id, unit_id, stream_id, event_type, since_at)
            values (v_wait.tenant_id, v_wait.unit_id, v_wait.unit_id >> 20, v_wait.config ->> 'event', v_now);
            perform stepwell._waits_match(v_wait.tenant_id, v_wait.unit_id >> 20, v_wait.config ->> 'event');
        else
            perform stepwell._subrun_start(v_wait.tenant_id, v_wait.unit_id, v_wait.config ->> 'workflow', v_wait.inputs);
        end if;
    end loop;
end
$$;
