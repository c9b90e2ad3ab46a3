-- How the graph advances: a step that ended releases its successors; a step that became ready is carried out by the
-- engine, or waits for a worker or a person. The other files of this room are the kinds of steps and the ways they end.
-- Callers hold the locks of the runs. SW004: the registry refuses.

-- Steps that completed or were skipped release their successors; those with no open predecessor become ready. The cost
-- is that of the edges that leave the step. (The report of a worker does the same in one statement:
-- report/completed.sql.)
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

-- Makes steps ready whose predecessors have ended, and does at once what follows.
create or replace function stepwell._units_ready(
    p_tenant_ids int[], p_unit_ids bigint[], p_released_counts int[], p_has_engine_steps boolean, p_has_slots boolean
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    if p_unit_ids is null then
        return;
    end if;
    perform stepwell._must_apply(p_tenant_ids, p_unit_ids, 'ready', 'mow_orchestrator', 'condition_resolved', null,
        'engine', null, null, p_released_counts);
    perform stepwell._ready_follow(p_tenant_ids, p_unit_ids, p_has_engine_steps, p_has_slots);
end
$$;

-- What follows when steps became ready. Operations are in the queue already; those with a concurrency key are put in
-- line; the kinds that the engine carries out (conditional, map, sub-workflow, wait) are carried out; human steps are
-- opened.
create or replace function stepwell._ready_follow(
    p_tenant_ids int[], p_unit_ids bigint[], p_has_engine_steps boolean, p_has_slots boolean
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_engine record;
begin
    if p_has_slots then
        perform stepwell._slots_take(p_tenant_ids, p_unit_ids);
    end if;
    if p_has_engine_steps then
        select array_agg(u.tenant_id order by u.unit_id) as tenant_ids, array_agg(u.unit_id order by u.unit_id) as unit_ids
        into v_engine
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        where u.class_id is null;
        perform stepwell._engine_steps(v_engine.tenant_ids, v_engine.unit_ids);
    end if;
end
$$;

-- Carries out ready steps that need no worker. A conditional decides, or stays ready until everything before it has
-- ended; a Map creates its items; a sub-workflow starts its run; a wait waits for its event; a human step is opened and
-- stays ready until a person claims it.
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
        -- What was carried out before may have cancelled these.
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

-- Steps that the engine carries out (map, sub-workflow, wait) complete with an output and release their successors.
create or replace function stepwell._engine_complete(
    p_tenant_ids int[], p_unit_ids bigint[], p_outputs jsonb[], p_by_event boolean default false
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    insert into stepwell.unit_output (tenant_id, unit_id, lease_no, output, created_at)
    select q.tenant_id, q.unit_id, u.lease_no, q.output, stepwell.now()
    from unnest(p_tenant_ids, p_unit_ids, p_outputs) as q (tenant_id, unit_id, output)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where q.output is not null;
    perform stepwell._must_apply(p_tenant_ids, p_unit_ids, 'completed', case when p_by_event then 'system' else 'mow_orchestrator' end,
        case when p_by_event then 'event' else 'condition_resolved' end, null, 'engine');
    perform stepwell._advance(p_tenant_ids, p_unit_ids);
end
$$;
