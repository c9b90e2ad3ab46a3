-- Purpose: writes the units of a Map's items, each an instance of the body in a block of numbers of its own, and makes
--   the entry steps ready. At most max_concurrency steps of the map run at once.
-- Locks: the caller holds the run; run_detail for the next free number.
-- Idempotency: called once per map.
-- Raises: SW006 when the run would have more units than a run may have; SW004 when the registry refuses.
create or replace function stepwell._map_fill(p_tenant_id int, p_unit_id bigint, p_items jsonb, p_max_concurrency int)
returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_machine constant text := stepwell._machine_of('step');
    v_run_id constant bigint := p_unit_id >> 20;
    v_count constant int := jsonb_array_length(p_items);
    v_map stepwell.work_unit;
    v_body record;
    v_base int;
    v_first record;
    v_slot_key text;
begin
    select u.* into v_map from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    select min(d.step_no) as first_no, count(*)::int as size into v_body
    from stepwell.workflow_step_def as d
    where d.tenant_id = p_tenant_id and d.version_id = v_map.version_id and d.scope_no = v_map.def_no;
    update stepwell.run_detail as r set next_unit_no = r.next_unit_no + v_count * v_body.size
    where r.tenant_id = p_tenant_id and r.run_id = v_run_id
    returning r.next_unit_no - v_count * v_body.size into v_base;
    if v_base + v_count * v_body.size > 1048575 then
        raise exception using errcode = 'SW006', message = format('run %s would have more than 1048575 steps', v_run_id);
    end if;
    if p_max_concurrency is not null then
        v_slot_key := format('run:%s:map:%s', v_run_id, p_unit_id & 1048575);
        insert into stepwell.concurrency_slot (tenant_id, slot_key, max_count)
        values (p_tenant_id, v_slot_key, p_max_concurrency);
    else
        v_slot_key := (select stepwell._workflow_slot(p_tenant_id, r.workflow_id) from stepwell.run_detail as r
            where r.tenant_id = p_tenant_id and r.run_id = v_run_id);
    end if;
    -- A limited Parallel inside the body counts for each item by itself.
    insert into stepwell.concurrency_slot (tenant_id, slot_key, max_count)
    select p_tenant_id, format('run:%s:%s:%s:%s', v_run_id, g.group_no, p_unit_id & 1048575, i.item_no), g.max_concurrency
    from stepwell.workflow_group as g
    cross join generate_series(0, v_count - 1) as i (item_no)
    where g.tenant_id = p_tenant_id and g.version_id = v_map.version_id and exists (
        select from stepwell.workflow_step_def as d
        where d.tenant_id = g.tenant_id and d.version_id = g.version_id and d.scope_no = v_map.def_no
            and d.group_no = g.group_no);
    insert into stepwell.map_item (tenant_id, unit_id, item_no, item)
    select p_tenant_id, p_unit_id, i.ord - 1, i.item from jsonb_array_elements(p_items) with ordinality as i (item, ord);
    insert into stepwell.work_unit (
        tenant_id, unit_id, version_id, def_no, operation_id, class_id, pending_count, priority, max_attempts, mandatory,
        has_contract, last_transition_at, scope, state_machine_id, state_code, slot_key, parent_id, item_no)
    select p_tenant_id, (v_run_id << 20) | (v_base + i.item_no * v_body.size + d.step_no - v_body.first_no),
        v_map.version_id, d.step_no, d.operation_id, o.class_id, d.pending_count, d.priority + v_map.priority,
        d.max_attempts, false, d.has_contract, v_now, 'step', v_machine, 'not_started',
        case when d.group_no is not null then format('run:%s:%s:%s:%s', v_run_id, d.group_no, p_unit_id & 1048575, i.item_no)
            when o.class_id is not null then v_slot_key end, p_unit_id, i.item_no
    from generate_series(0, v_count - 1) as i (item_no)
    cross join stepwell.workflow_step_def as d
    left join stepwell.operation as o on d.tenant_id = o.tenant_id and d.operation_id = o.operation_id
    where d.tenant_id = p_tenant_id and d.version_id = v_map.version_id and d.scope_no = v_map.def_no
    order by i.item_no, d.step_no;
    update stepwell.run_progress as p
    set open_count = p.open_count + v_count * v_body.size, map_count = p.map_count + 1
    where p.tenant_id = p_tenant_id and p.run_id = v_run_id;
    update stepwell.work_unit as u set pending_count = v_count * v_body.size
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    select array_agg(p_tenant_id) as tenant_ids, array_agg(0) as released_counts,
        array_agg((v_run_id << 20) | (v_base + i.item_no * v_body.size + d.step_no - v_body.first_no)
            order by i.item_no, d.step_no) as unit_ids,
        bool_or(d.step_kind <> 'operation') as has_engine_steps, bool_or(d.group_no is not null) as has_groups
    into v_first
    from generate_series(0, v_count - 1) as i (item_no)
    cross join stepwell.workflow_step_def as d
    where d.tenant_id = p_tenant_id and d.version_id = v_map.version_id and d.scope_no = v_map.def_no
        and d.pending_count = 0;
    perform stepwell._units_ready(v_first.tenant_ids, v_first.unit_ids, v_first.released_counts, v_first.has_engine_steps,
        v_slot_key is not null or v_first.has_groups);
end
$$;
