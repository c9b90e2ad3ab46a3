-- A step with everything that belongs to it. A page asks for the parts that it shows.

-- The parts of a step that are asked for: why, actions, inputs, outputs, attempts, receipts, tasks, content, events. Values are shown to
-- whoever may read payloads.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW001 for an unknown part; SW002 when there is no such step; SW007 for another tenant.
create or replace function stepwell.fn_step_body(
    p_tenant_id int, p_unit_id bigint, p_parts text[], p_events_before bigint default null, p_events_limit int default 50
) returns json
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_step record;
    v_unknown text;
    v_found jsonb;
begin
    select p.part into v_unknown from unnest(p_parts) as p (part)
    where p.part not in ('why', 'actions', 'inputs', 'outputs', 'attempts', 'receipts', 'tasks', 'content', 'events') limit 1;
    if v_unknown is not null then
        raise exception using errcode = 'SW001', column = 'include', message = format('include: %s is not a part of a step', v_unknown),
            hint = 'why, actions, inputs, outputs, attempts, receipts, tasks, content and events are';
    end if;
    select u.unit_id, u.def_no, u.state_code, u.waiting_facet, d.step_id, d.step_kind into v_step
    from stepwell.work_unit as u
    inner join stepwell.workflow_step_def as d on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id and u.scope = 'step';
    if not found then
        raise exception using errcode = 'SW002', column = 'step', message = format('step %s does not exist', stepwell._unit_ref(p_unit_id));
    end if;
    v_found := jsonb_build_object('run_id', stepwell._run_of(p_unit_id), 'no', stepwell._unit_no(p_unit_id), 'unit_id', p_unit_id::text,
        'step_id', v_step.step_id, 'kind', v_step.step_kind, 'state', v_step.state_code, 'facet', v_step.waiting_facet,
        'position', pg_current_snapshot()::text);
    if 'why' = any (p_parts) then
        v_found := v_found || jsonb_build_object('why', (select jsonb_build_object('code', y.code, 'en', y.sentence_en, 'vi', y.sentence_vi,
                'who', y.who, 'path', stepwell._step_way_out(p_tenant_id, p_unit_id, 'actions' = any (p_parts)))
            from stepwell.fn_why_not_running(p_unit_id, p_tenant_id) as y));
    end if;
    if 'actions' = any (p_parts) then
        v_found := v_found || jsonb_build_object('actions', stepwell.fn_actions_read(p_tenant_id, p_unit_id));
    end if;
    if 'inputs' = any (p_parts) then
        v_found := v_found || jsonb_build_object('inputs', stepwell.fn_step_inputs_read(p_tenant_id, p_unit_id));
    end if;
    if 'outputs' = any (p_parts) then
        v_found := v_found || jsonb_build_object('outputs', case when stepwell.payload_tenant() is not null then (
            select coalesce(jsonb_agg(jsonb_build_object('lease_no', o.lease_no, 'output', o.output, 'created_at', o.created_at) order by o.lease_no desc), '[]')
            from (select x.* from stepwell.unit_output as x where x.tenant_id = p_tenant_id and x.unit_id = p_unit_id
                order by x.lease_no desc limit 20) as o) end);
    end if;
    if 'attempts' = any (p_parts) then
        v_found := v_found || jsonb_build_object('attempts', stepwell._step_attempts(p_tenant_id, p_unit_id, v_step.state_code));
    end if;
    if 'receipts' = any (p_parts) then
        v_found := v_found || jsonb_build_object('receipts', (
            select coalesce(jsonb_agg(jsonb_build_object('receipt_id', r.receipt_id::text, 'connector', r.connector, 'operation', r.operation,
                'target', r.target, 'state', u.state_code, 'at', u.last_transition_at, 'reversible', r.reversible) order by r.receipt_id), '[]')
            from stepwell.action_receipt as r
            inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.receipt_id = u.unit_id
            where r.tenant_id = p_tenant_id and r.run_id = stepwell._run_of(p_unit_id) and r.unit_id = p_unit_id));
    end if;
    if 'tasks' = any (p_parts) then
        v_found := v_found || jsonb_build_object('tasks', (
            select coalesce(jsonb_agg(jsonb_build_object('no', stepwell._unit_no(t.unit_id), 'unit_id', t.unit_id::text, 'task_id', t.task_id, 'title', t.title,
                'state', u.state_code, 'pic', stepwell._person_name(p_tenant_id, u.pic_id)) order by t.unit_id), '[]')
            from stepwell.task_detail as t
            inner join stepwell.work_unit as u on t.tenant_id = u.tenant_id and t.unit_id = u.unit_id
            where t.tenant_id = p_tenant_id and t.step_run_id = p_unit_id));
    end if;
    if 'content' = any (p_parts) then
        v_found := v_found || jsonb_build_object('content', (
            select coalesce(jsonb_agg(jsonb_build_object('name', c.iu_code, 'version', c.pinned_version_no, 'label_en', c.label_en, 'label_vi', c.label_vi,
                'body', c.body, 'items', c.items) order by c.iu_code), '[]')
            from stepwell.v_step_content as c
            where c.tenant_id = p_tenant_id and c.run_id = stepwell._run_of(p_unit_id) and c.step_no = v_step.def_no));
    end if;
    if 'events' = any (p_parts) then
        v_found := v_found || jsonb_build_object('events', stepwell._step_events(p_tenant_id, p_unit_id, p_events_before, p_events_limit));
    end if;
    return v_found::json;
end
$$;

-- The events of a step, the newest first; `next` is for the next page.
create or replace function stepwell._step_events(p_tenant_id int, p_unit_id bigint, p_before bigint, p_limit int) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    with page as (
        select e.event_id, e.at, e.event_type, e.from_state, e.to_state, e.actor, e.payload
        from stepwell.event_log as e
        where e.tenant_id = p_tenant_id and e.run_id = stepwell._run_of(p_unit_id) and e.unit_id = p_unit_id
            and (p_before is null or e.event_id < p_before)
        order by e.event_id desc limit greatest(least(p_limit, 200), 1) + 1
    ), shown as (
        select p.* from page as p order by p.event_id desc limit greatest(least(p_limit, 200), 1)
    )
    select jsonb_build_object('items', coalesce(jsonb_agg(jsonb_build_object('event_id', s.event_id, 'at', s.at, 'type', s.event_type,
            'from', s.from_state, 'to', s.to_state, 'actor', s.actor, 'payload', s.payload) order by s.event_id desc), '[]'),
        'next', case when (select count(*) from page) > count(*) then min(s.event_id) end)
    from shown as s
$$;

-- The attempts of a step, the newest first: when each began, by whom, and how it ended.
create or replace function stepwell._step_attempts(p_tenant_id int, p_unit_id bigint, p_state_code text) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    with begun as (
        select e.event_id, e.at, e.actor, e.request_id as lease_no, row_number() over (order by e.event_id) as attempt, lead(e.event_id) over (order by e.event_id) as next_id
        from stepwell.event_log as e
        where e.tenant_id = p_tenant_id and e.run_id = stepwell._run_of(p_unit_id) and e.unit_id = p_unit_id and e.to_state = 'in_progress'
    ), attempt as (
        select b.attempt, b.at, b.actor, b.lease_no, x.at as ended_at, x.to_state, x.event_id
        from begun as b
        left join lateral (
            select e.at, e.to_state, e.event_id from stepwell.event_log as e
            where e.tenant_id = p_tenant_id and e.run_id = stepwell._run_of(p_unit_id) and e.unit_id = p_unit_id and e.event_id > b.event_id
                and (b.next_id is null or e.event_id < b.next_id) and e.to_state is not null and e.from_state in ('in_progress', 'overdue')
            order by e.event_id limit 1
        ) as x on true
        order by b.attempt desc limit 50
    )
    select coalesce(jsonb_agg(jsonb_build_object('attempt', a.attempt, 'started_at', a.at, 'ended_at', a.ended_at, 'worker', a.actor,
        'outcome', case when a.ended_at is null then 'open' when a.to_state in ('failed', 'cannot_complete') then 'failed' else a.to_state end,
        'failure_class', f.failure_class, 'error', f.error, 'next_at', f.next_eligible_at) order by a.attempt desc), '[]')
    from attempt as a
    left join lateral (
        select x.failure_class, x.error, x.next_eligible_at from stepwell.unit_failure as x
        where x.tenant_id = p_tenant_id and x.unit_id = p_unit_id and x.lease_no = a.lease_no
        order by x.failed_at desc limit 1
    ) as f on a.to_state in ('failed', 'cannot_complete')
$$;

-- The inputs of a step: as they were bound for a person, or bound again from the outputs of the steps before it and the input
-- of the run, which do not change. Null for who may not read payloads.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW007 for another tenant.
create or replace function stepwell.fn_step_inputs_read(p_tenant_id int, p_unit_id bigint) returns jsonb
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_step record;
    v_kept jsonb;
    v_found record;
begin
    perform stepwell._tenant_bound(p_tenant_id);
    perform stepwell._unit_shown_check(p_tenant_id, p_unit_id);
    -- A person sees what is kept for the own steps, whoever may read payloads the rest too.
    select i.inputs into v_kept from stepwell.step_input as i
    where i.tenant_id = p_tenant_id and i.unit_id = p_unit_id
        and (stepwell.payload_tenant() is not null or stepwell._step_is_own(p_tenant_id, p_unit_id))
    order by i.binding_no desc limit 1;
    if found then
        return jsonb_build_object('bound', v_kept, 'origin', 'kept', 'problem', null);
    elsif stepwell.payload_tenant() is null then
        return null;
    end if;
    select u.state_code, d.inputs, d.config, case when u.item_no is not null
        then stepwell._item_read(u.tenant_id, u.parent_id, u.item_no) end as item, r.input
    into v_step
    from stepwell.work_unit as u
    inner join stepwell.workflow_step_def as d on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    inner join stepwell.run_detail as r on u.tenant_id = r.tenant_id and r.run_id = stepwell._run_of(u.unit_id)
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    if not found or v_step.state_code = 'not_started' then
        return jsonb_build_object('bound', null, 'origin', 'none', 'problem', null);
    end if;
    if v_step.inputs is null then
        return jsonb_build_object('bound', coalesce(v_step.item, v_step.input), 'origin', 'computed', 'problem', null);
    end if;
    v_found := stepwell._step_evaluate(p_tenant_id, p_unit_id, 'operation', v_step.config, v_step.inputs, false);
    return jsonb_build_object('bound', case when v_found.value is not null then coalesce(v_step.item, '{}') || v_found.value end,
        'origin', 'computed', 'problem', v_found.problem);
end
$$;

-- The causes from a step to the root, as fn_unblock_path has them, and at the root what the caller may do there.
create or replace function stepwell._step_way_out(p_tenant_id int, p_unit_id bigint, p_with_actions boolean) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    with cause as materialized (
        select c.*, lead(c.place) over (order by c.place) is null as is_root from stepwell.fn_unblock_path(p_unit_id, p_tenant_id) as c
    )
    select coalesce(jsonb_agg(jsonb_build_object('unit_id', c.unit_id::text, 'run_id', stepwell._run_of(c.unit_id), 'no', stepwell._unit_no(c.unit_id),
        'name', c.unit_name, 'code', c.code, 'en', c.sentence_en, 'vi', c.sentence_vi, 'who', c.who, 'action', c.action, 'target_id', c.target_id::text,
        'command', c.command, 'expected_at', c.expected_at, 'past_runs', c.past_runs, 'help', (
            select a.value::jsonb from json_array_elements(stepwell.fn_actions_read(p_tenant_id, c.target_id)) as a (value)
            where c.is_root and p_with_actions and c.target_id is not null and c.action <> 'decide' and a.value ->> 'action' = c.action)) order by c.place), '[]')
    from cause as c
$$;
