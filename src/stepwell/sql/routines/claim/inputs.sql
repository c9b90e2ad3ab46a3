-- What a claim sends to the handlers of steps that have more than a small run input: declared inputs, the item of a Map, a
-- large input of the run. What the units of one Map share is read and bound once for all of them.

-- The leases of these units that _claim left out. Units outside of Maps are read in one statement; the units of one step of
-- one Map share the input of the run and the outputs of the steps around the Map.
-- Locks: none.
-- Raises: nothing.
create or replace function stepwell._leases_bound(
    p_session_id bigint, p_tenant_ids int[], p_unit_ids bigint[], p_batch_id bigint
) returns setof stepwell.job_lease
language plpgsql stable
as $$
declare
    v_takes constant jsonb := (select s.handler_takes from stepwell.worker_session as s where s.session_id = p_session_id);
    v_group record;
begin
    return query
    select
        'lease'::text, q.tenant_id, u.unit_id, u.lease_no, p_batch_id, o.operation_name, u.attempt_count + 1,
        u.max_attempts::int, coalesce(d.timeout_seconds, o.timeout_seconds), d.step_id,
        stepwell._input_taken(x.input, v_takes -> o.operation_name, d.inputs),
        case when d.inputs is null then null
            when d.config -> 'reads' is null then stepwell._inputs_bind(u.tenant_id, u.unit_id, d.inputs, null)
            else stepwell._inputs_evaluate(stepwell._inputs_plan(d.inputs), x.input, s.steps, null) end,
        case when u.lease_no > 1 then stepwell._wake_read(u.tenant_id, u.unit_id) end,
        case when u.lease_no > 1 then stepwell._checkpoints_read(u.tenant_id, u.unit_id) end,
        x.trace_id, x.correlation_id, u.deadline_at
    from (select unnest(p_tenant_ids) as tenant_id, unnest(p_unit_ids) as unit_id) as q
    -- Each is looked up by its own key (offset 0): in a join, a plan for young tables reads all steps of the version, or the
    -- list of units, again for each.
    cross join lateral (
        select x.* from stepwell.work_unit as x where x.tenant_id = q.tenant_id and x.unit_id = q.unit_id offset 0
    ) as u
    cross join lateral (
        select x.* from stepwell.operation as x where x.tenant_id = u.tenant_id and x.operation_id = u.operation_id offset 0
    ) as o
    left join lateral (
        select x.* from stepwell.workflow_step_def as x
        where x.tenant_id = u.tenant_id and x.version_id = u.version_id and x.step_no = u.def_no offset 0
    ) as d on true
    cross join lateral (
        -- The empty object makes one value in memory of what is stored in parts.
        select r.input || '{}' as input, r.trace_id, r.correlation_id
        from stepwell.run_detail as r
        where r.tenant_id = u.tenant_id and r.run_id = stepwell._run_of(u.unit_id)
            and (d.inputs is not null or pg_column_size(r.input) > 1000)
        offset 0
    ) as x
    cross join lateral (
        select stepwell._steps_read(u.tenant_id, u.version_id, u.unit_id - u.def_no,
            array(select jsonb_array_elements_text(d.config -> 'reads')::int)) as steps
        where d.inputs is not null and d.config -> 'reads' <> '[]'
        union all
        select null where d.inputs is null or coalesce(d.config -> 'reads', '[]') = '[]'
    ) as s
    where u.scope in ('step', 'task') and u.item_no is null;
    for v_group in
        select u.tenant_id, u.version_id, u.def_no, u.operation_id, array_agg(u.unit_id order by u.unit_id) as unit_ids
        from (select unnest(p_tenant_ids) as tenant_id, unnest(p_unit_ids) as unit_id) as q
        cross join lateral (
            select x.tenant_id, x.version_id, x.unit_id, x.parent_id, x.def_no, x.item_no, x.operation_id from stepwell.work_unit as x
            where x.tenant_id = q.tenant_id and x.unit_id = q.unit_id offset 0
        ) as u
        where u.item_no is not null
        group by u.tenant_id, u.version_id, stepwell._run_of(u.unit_id), u.parent_id, u.def_no, u.operation_id
    loop
        return query select i.* from stepwell._leases_of_items(v_group.tenant_id, v_group.version_id, v_group.def_no,
            v_group.operation_id, v_group.unit_ids, p_batch_id, v_takes) as i;
    end loop;
end
$$;

-- The leases of units that are the same step of one Map with the same operation: that of the step, or the evaluation of its
-- expressions. What reads the run or the steps around the Map is evaluated once.
create or replace function stepwell._leases_of_items(
    p_tenant_id int, p_version_id int, p_def_no int, p_operation_id int, p_unit_ids bigint[], p_batch_id bigint, p_takes jsonb
) returns setof stepwell.job_lease
language plpgsql stable
as $$
declare
    v_step stepwell.workflow_step_def;
    v_run record;
    v_own_nos int[];
    v_own_ids text[];
    v_outer_nos int[];
    v_steps jsonb;
    v_shared_inputs jsonb;
    v_shared jsonb;
    v_each_inputs jsonb;
    v_plan text[];
    v_operation stepwell.operation;
    v_taken jsonb;
begin
    select d.* into v_step from stepwell.workflow_step_def as d
    where d.tenant_id = p_tenant_id and d.version_id = p_version_id and d.step_no = p_def_no;
    select r.input || '{}' as input, r.trace_id, r.correlation_id into v_run
    from stepwell.run_detail as r
    where r.tenant_id = p_tenant_id and r.run_id = stepwell._run_of(p_unit_ids[1]);
    select o.* into v_operation from stepwell.operation as o
    where o.tenant_id = p_tenant_id and o.operation_id = p_operation_id;
    v_taken := stepwell._input_taken(v_run.input, p_takes -> v_operation.operation_name,
        coalesce(v_step.inputs, '{}') || '{"item": "", "index": ""}');
    if v_step.inputs is not null then
        select array_agg(d.step_no) filter (where d.scope_no = v_step.scope_no),
            array_agg(d.step_id) filter (where d.scope_no = v_step.scope_no),
            array_agg(d.step_no) filter (where d.scope_no <> v_step.scope_no)
        into v_own_nos, v_own_ids, v_outer_nos
        from jsonb_array_elements_text(v_step.config -> 'reads') as n (step_no)
        inner join stepwell.workflow_step_def as d
            on d.tenant_id = p_tenant_id and d.version_id = p_version_id and d.step_no = n.step_no::int;
        if v_outer_nos is not null then
            v_steps := stepwell._unit_document(p_tenant_id, p_unit_ids[1], v_outer_nos) -> 'steps';
        end if;
        select jsonb_object_agg(i.key, i.value) filter (where i.is_shared),
            jsonb_object_agg(i.key, i.value) filter (where not i.is_shared)
        into v_shared_inputs, v_each_inputs
        from (
            select p.key, p.value,
                v_step.config ? 'reads' and stepwell._way_is_shared(stepwell._path_way(p.value), v_own_ids) as is_shared
            from jsonb_each_text(v_step.inputs) as p
        ) as i;
        v_shared := stepwell._inputs_evaluate(stepwell._inputs_plan(v_shared_inputs), v_run.input, v_steps, null);
        v_plan := stepwell._inputs_plan(v_each_inputs);
    end if;
    return query
    select
        'lease'::text, u.tenant_id, u.unit_id, u.lease_no, p_batch_id, v_operation.operation_name, u.attempt_count + 1,
        u.max_attempts::int, coalesce(v_step.timeout_seconds, v_operation.timeout_seconds), v_step.step_id,
        v_taken,
        stepwell._inputs_join(i.item, case
            when v_each_inputs is null then v_shared
            when not v_step.config ? 'reads' then stepwell._inputs_bind(u.tenant_id, u.unit_id, v_step.inputs, null)
            else stepwell._inputs_join(coalesce(v_shared, '{}'), stepwell._inputs_evaluate(v_plan, v_run.input,
                case when v_own_nos is null then v_steps else coalesce(v_steps, '{}') || stepwell._steps_read(
                    u.tenant_id, u.version_id, u.unit_id - u.def_no, v_own_nos) end, i.item)) end),
        case when u.lease_no > 1 then stepwell._wake_read(u.tenant_id, u.unit_id) end,
        case when u.lease_no > 1 then stepwell._checkpoints_read(u.tenant_id, u.unit_id) end,
        v_run.trace_id, v_run.correlation_id, u.deadline_at
    from unnest(p_unit_ids) as q (unit_id)
    cross join lateral (
        select x.* from stepwell.work_unit as x where x.tenant_id = p_tenant_id and x.unit_id = q.unit_id offset 0
    ) as u
    cross join lateral (
        select jsonb_build_object('item', m.item, 'index', m.item_no) as item
        from stepwell.map_item as m
        where m.tenant_id = p_tenant_id and m.unit_id = u.parent_id and m.item_no = u.item_no
        offset 0
    ) as i;
end
$$;

-- Whether an input is the same for all items of a Map: it reads the run, or a step that is not inside the Map.
create or replace function stepwell._way_is_shared(p_way text[], p_own_ids text[]) returns boolean
language sql immutable
as $$
    select coalesce(p_way[1] = 'input' or (p_way[1] = 'steps' and (p_own_ids is null
        or not coalesce(substring(p_way[2] from '^[.]"([^"]*)"'), substring(p_way[2] from '^[.]([A-Za-z0-9_]+)')) = any (p_own_ids))), false)
$$;

-- What a handler takes of the input of its run: everything when its worker did not say, nothing that an input of the step
-- replaces.
create or replace function stepwell._input_taken(p_input jsonb, p_names jsonb, p_inputs jsonb) returns jsonb
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
begin
    if p_names is null or jsonb_typeof(p_input) <> 'object' then
        return p_input;
    end if;
    return (
        select jsonb_object_agg(n.name, p_input -> n.name)
        from jsonb_array_elements_text(p_names) as n (name)
        where p_input ? n.name and not coalesce(p_inputs ? n.name, false));
end
$$;

-- The steps with these numbers as an expression reads them: {id: {status, output, error}}. p_first_id is the number that the
-- unit of step 0 would have: those of the run, or those of one item of a Map.
create or replace function stepwell._steps_read(p_tenant_id int, p_version_id int, p_first_id bigint, p_step_nos int[]) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return (
        select jsonb_object_agg(d.step_id, jsonb_strip_nulls(jsonb_build_object(
            'status', coalesce(w.dialect_code, u.state_code), 'error', f.error)) || jsonb_build_object('output', o.output))
        from unnest(p_step_nos) as n (step_no)
        -- Each is looked up by its own key (offset 0): in a join, a plan for young tables reads all steps of the version.
        cross join lateral (
            select x.step_id from stepwell.workflow_step_def as x
            where x.tenant_id = p_tenant_id and x.version_id = p_version_id and x.step_no = n.step_no offset 0
        ) as d
        cross join lateral (
            select x.tenant_id, x.unit_id, x.state_code from stepwell.work_unit as x
            where x.tenant_id = p_tenant_id and x.unit_id = p_first_id + n.step_no offset 0
        ) as u
        left join lateral (
            select x.output from stepwell.unit_output as x
            where u.state_code = 'completed' and x.tenant_id = p_tenant_id and x.unit_id = u.unit_id
            order by x.lease_no desc limit 1
        ) as o on true
        left join lateral (
            select x.error from stepwell.unit_failure as x
            where u.state_code in ('failed', 'cannot_complete') and x.tenant_id = p_tenant_id and x.unit_id = u.unit_id
            order by x.failed_at desc, x.lease_no desc limit 1
        ) as f on true
        left join lateral (
            select x.dialect_code from stepwell.state_dialect as x
            where x.dialect = 'node' and x.scope = 'step' and x.state_code = u.state_code
                and x.qualifier = case when u.state_code = 'failed' then 'transient' else '' end
            offset 0
        ) as w on true);
end
$$;
