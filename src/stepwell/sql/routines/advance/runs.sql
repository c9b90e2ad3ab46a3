-- A run begins: its units are written, and its first steps become ready.

-- Writes the units and counters of new runs, moves each run to in_progress and its first steps to ready. When the
-- caller names a session, first steps get a direct lease to it, up to p_direct_limit. Returns these, and whether
-- something may be left for other workers; the caller notifies them.
create or replace function stepwell._run_create(
    p_tenant_id int, p_version stepwell.workflow_version, p_run_ids bigint[], p_priority int, p_actor text,
    p_parent_unit_ids bigint[] default null, p_session_id bigint default null, p_executor_class_ids int[] default null,
    p_direct_limit int default 0, p_handler_ids int[] default null, p_workspace_id int default null, out direct_ids bigint[], out leaves_more boolean
)
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_step_machine constant text := stepwell._machine_of('step');
    v_run_machine constant text := stepwell._machine_of('workflow_run');
    v_count constant int := cardinality(p_run_ids);
    v_step_count int;
    v_mandatory_count int;
    v_has_content boolean;
    v_slot_key text;
    v_first record;
begin
    select (count(*) filter (where d.scope_no = 0))::int, (count(*) filter (where d.scope_no = 0 and d.mandatory))::int,
        bool_or(d.config ? 'content')
    into v_step_count, v_mandatory_count, v_has_content
    from stepwell.workflow_step_def as d
    where d.tenant_id = p_tenant_id and d.version_id = p_version.version_id;
    if v_has_content then
        perform stepwell._content_pin(p_tenant_id, p_version.version_id, p_run_ids);
    end if;
    insert into stepwell.run_progress (
        tenant_id, run_id, parent_run_id, open_count, mandatory_count, idle_count, last_rollup_at, workspace_id)
    select p_tenant_id, q.run_id, stepwell._run_of(q.parent_id), v_step_count, v_mandatory_count, v_mandatory_count, v_now,
        p_workspace_id
    from unnest(p_run_ids, p_parent_unit_ids) as q (run_id, parent_id);
    v_slot_key := stepwell._workflow_slot(p_tenant_id, p_version.workflow_id, p_workspace_id);
    insert into stepwell.concurrency_slot (tenant_id, slot_key, max_count)
    select p_tenant_id, format('run:%s:%s', r.run_id, g.group_no), g.max_concurrency
    from unnest(p_run_ids) as r (run_id)
    inner join stepwell.workflow_group as g on g.tenant_id = p_tenant_id and g.version_id = p_version.version_id;
    insert into stepwell.work_unit (
        tenant_id, unit_id, version_id, def_no, parent_id, priority, last_transition_at, scope, state_machine_id, state_code)
    select p_tenant_id, stepwell._run_unit(q.run_id), p_version.version_id, 0, q.parent_id, p_priority, v_now,
        'workflow_run', v_run_machine, 'not_started'
    from unnest(p_run_ids, p_parent_unit_ids) as q (run_id, parent_id);
    insert into stepwell.work_unit (
        tenant_id, unit_id, version_id, def_no, operation_id, executor_class_id, pending_count, priority, max_attempts,
        mandatory, has_contract, last_transition_at, scope, state_machine_id, state_code, slot_key, has_deadline)
    select
        p_tenant_id, stepwell._run_unit(r.run_id) | d.step_no, p_version.version_id, d.step_no, d.operation_id, o.executor_class_id,
        d.pending_count, d.priority + p_priority, d.max_attempts, d.mandatory, d.has_contract, v_now,
        'step', v_step_machine, 'not_started',
        case when d.group_no is not null then format('run:%s:%s', r.run_id, d.group_no)
            when o.executor_class_id is not null then v_slot_key end, d.has_deadline
    from unnest(p_run_ids) as r (run_id)
    cross join stepwell.workflow_step_def as d
    left join stepwell.operation as o on d.tenant_id = o.tenant_id and d.operation_id = o.operation_id
    where d.tenant_id = p_tenant_id and d.version_id = p_version.version_id and d.scope_no = 0
    order by r.run_id, d.step_no;
    if p_version.is_template then
        perform stepwell._graphs_begin(p_tenant_id, p_version, p_run_ids);
    end if;
    v_first := stepwell._entry_steps_find(p_tenant_id, p_version.version_id, p_run_ids, v_slot_key, p_executor_class_ids, p_direct_limit,
        p_handler_ids);
    direct_ids := stepwell._must_apply(
        array(select row(p_tenant_id, stepwell._run_unit(r), 'in_progress', null, null, null, null, null)::stepwell.transition_request
            from unnest(p_run_ids) as r) || v_first.requests,
        row('mow_orchestrator', 'rpc', 'workflow_start', p_actor, null, v_now, v_count + 1, v_first.direct_count,
            p_session_id)::stepwell.transition_cause);
    leaves_more := v_first.has_engine_steps or v_first.has_slots
        or cardinality(v_first.unit_ids) > coalesce(cardinality(direct_ids), 0);
    perform stepwell._ready_follow(v_first.tenant_ids, v_first.unit_ids, v_first.has_engine_steps, v_first.has_slots);
    if v_first.has_engine_steps then
        -- Conditionals and Maps are carried out at once: nothing may be left to do.
        perform stepwell._runs_settle(array_fill(p_tenant_id, array[v_count]), array(select stepwell._run_unit(r) from unnest(p_run_ids) as r));
    end if;
end
$$;

-- The steps of new runs without predecessors. Those that may get a direct lease come first, direct_count of them: of
-- what the session serves, without a concurrency key, and only while the queue has nothing for the session.
create or replace function stepwell._entry_steps_find(
    p_tenant_id int, p_version_id int, p_run_ids bigint[], p_slot_key text, p_executor_class_ids int[], p_direct_limit int,
    p_handler_ids int[],
    out tenant_ids int[], out unit_ids bigint[], out requests stepwell.transition_request[], out has_engine_steps boolean,
    out has_slots boolean, out direct_count int
)
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_may_lease_directly boolean := false;
begin
    if p_direct_limit > 0 then
        v_may_lease_directly := (stepwell._queue_look(array[p_tenant_id], p_executor_class_ids, p_direct_limit, p_handler_ids)).is_dry;
    end if;
    select
        array_agg(p_tenant_id), array_agg(e.unit_id), array_agg(
            row(p_tenant_id, e.unit_id, 'ready', null, null, null, null, null)::stepwell.transition_request),
        bool_or(e.is_of_engine), bool_or(e.has_slot), least((count(*) filter (where e.can_lease_directly))::int, p_direct_limit)
    into tenant_ids, unit_ids, requests, has_engine_steps, has_slots, direct_count
    from (
        select
            stepwell._run_unit(r.run_id) | d.step_no as unit_id, d.step_kind <> 'operation' or d.has_deadline as is_of_engine, s.has_slot, g.can_lease_directly,
            case when g.can_lease_directly then -d.priority end as rank
        from unnest(p_run_ids) as r (run_id)
        cross join stepwell.workflow_step_def as d
        left join stepwell.operation as o on d.tenant_id = o.tenant_id and d.operation_id = o.operation_id
        cross join lateral (select d.group_no is not null or p_slot_key is not null as has_slot) as s
        cross join lateral (
            select v_may_lease_directly and not s.has_slot and coalesce(o.executor_class_id = any (p_executor_class_ids)
                and (p_handler_ids is null or o.handler_id = any (p_handler_ids)), false) as can_lease_directly) as g
        where d.tenant_id = p_tenant_id and d.version_id = p_version_id and d.scope_no = 0 and d.pending_count = 0
        order by can_lease_directly desc, rank, unit_id
    ) as e;
end
$$;
