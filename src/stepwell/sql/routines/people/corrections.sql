-- A step that has ended is opened again for correction, together with everything around it that has ended.

-- What a correction of a step or task would change. Around it: Maps, sub-workflow steps and the step of a task that have ended and would open with
-- it, in its run and in the runs above. After these: every step that depends on one of them, directly or not, and has
-- begun or could begin; what it would wait for; and whether it could be opened too, if it has completed.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing; no rows when nothing would change.
create or replace function stepwell.fn_step_correction_preview(p_tenant_id int, p_unit_id bigint)
returns table (
    relation text, run_id bigint, step_run_id bigint, step_id text, step_kind text, state_code text, can_reopen boolean,
    waits_for bigint[]
)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with recursive around as (
        select a.unit_id from stepwell._correction_around(p_tenant_id, p_unit_id) as a
        where a.scope = 'step' and a.state_code in ('completed', 'cannot_complete')
    ), down as (
        select u.unit_id, u.version_id, u.def_no, u.state_code, null::bigint as cause, false as is_open from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.scope = 'step'
            and (u.unit_id = p_unit_id or u.unit_id in (select a.unit_id from around as a))
        union
        -- Steps after one that cannot be opened again depend on what that one depends on.
        select s.unit_id, s.version_id, s.def_no, s.state_code, case when c.cause is null
            or k.step_kind in ('human', 'operation') then c.unit_id else c.cause end, s.state_code <> 'completed'
        from down as c
        inner join stepwell.workflow_step_def as k
            on k.tenant_id = p_tenant_id and c.version_id = k.version_id and c.def_no = k.step_no
        inner join stepwell.workflow_step_relations as r
            on r.tenant_id = p_tenant_id and c.version_id = r.version_id and c.def_no = r.from_no
        inner join stepwell.work_unit as s on s.tenant_id = p_tenant_id and s.unit_id = c.unit_id + r.to_no - c.def_no
        where not c.is_open and s.state_code in ('completed', 'ready', 'in_progress', 'waiting', 'blocked', 'overdue')
    )
    select case when a.unit_id is null then 'after' else 'around' end, stepwell._run_of(d.unit_id), d.unit_id,
        k.step_id || coalesce('[' || u.item_no || ']', ''), k.step_kind, d.state_code,
        a.unit_id is not null or (k.step_kind in ('human', 'operation') and not d.is_open),
        case when a.unit_id is null then array_agg(distinct d.cause order by d.cause) else '{}' end
    from down as d
    inner join stepwell.workflow_step_def as k
        on k.tenant_id = p_tenant_id and d.version_id = k.version_id and d.def_no = k.step_no
    inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and d.unit_id = u.unit_id
    left join around as a on d.unit_id = a.unit_id
    where d.cause is not null or a.unit_id is not null
    group by d.unit_id, a.unit_id, u.item_no, k.step_id, k.step_kind, d.state_code, d.is_open
    order by stepwell._run_of(d.unit_id) desc, d.unit_id
$$;

-- Opens an ended step or task again for correction, with an approval and a reason from the vocabulary. The record of how it
-- had ended stays: audit row, output snapshot, completion time. What has ended around it opens with it: the step of a task,
-- Maps, sub-workflow steps, runs, up to the outermost. Tasks that were cancelled with a step begin again with it. What completed after these stays, or is opened too and waits, as p_downstream says.
-- Steps that were cancelled wait again.
-- Locks: the runs above, then the run.
-- Idempotency: by key; an approval opens a step once.
-- Raises: SW001 for an unknown choice; SW002 when there is no such step; SW003 when it cannot be opened; SW004 when the
--   registry refuses, also by the guards reopen_approved and actor_oversees; SW007 for another tenant.
create or replace function stepwell.fn_step_reopen_for_correction(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_reason text, p_approval_id bigint, p_downstream text default 'leave',
    p_person text default null, p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_around constant bigint[] := array(select a.unit_id from stepwell._correction_around(p_tenant_id, p_unit_id) as a);
    v_answer jsonb;
    v_person_id bigint;
    v_root stepwell.step_run_correction_cycle;
    v_step record;
    v_touched jsonb := '[]'::jsonb;
    v_failed_ids bigint[];
    v_open_ids bigint[] := array[p_unit_id];
begin
    p_reason := stepwell._redact_text(p_reason);
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'step.work');
    perform stepwell._tenant_bound(p_tenant_id);
    v_answer := stepwell._step_answer(p_tenant_id, p_unit_id, 'step_reopen_for_correction', p_key);
    if v_answer is not null then
        return v_answer;
    end if;
    perform stepwell._step_actor_check(p_tenant_id, p_unit_id, p_actor, 'actor_oversees');
    v_person_id := case when p_person is not null then stepwell._person_find(p_tenant_id, p_person) end;
    perform stepwell._correction_check(p_tenant_id, p_unit_id, p_approval_id, p_downstream);
    -- Read before anything changes: afterwards what is around the step has not ended any more.
    v_failed_ids := array(select u.unit_id from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id = any (v_around || p_unit_id) and u.scope = 'step'
            and u.state_code = 'cannot_complete');
    for v_step in
        select d.*, p_downstream = 'reopen' and d.can_reopen or d.relation = 'around' as opens
        from stepwell.fn_step_correction_preview(p_tenant_id, p_unit_id) as d
    loop
        v_touched := v_touched || (to_jsonb(v_step) - 'opens' || jsonb_build_object('reopened', v_step.opens));
    end loop;
    perform stepwell._correction_run_open(p_tenant_id, stepwell._run_of(a.unit_id), p_actor, p_reason, p_approval_id)
    from unnest(v_around) as a (unit_id) where stepwell._unit_no(a.unit_id) = 0;
    v_root := stepwell._correction_open(p_tenant_id, p_unit_id, p_unit_id, p_actor, p_reason, p_approval_id, p_downstream,
        '{}', v_person_id);
    -- From the inside to the outside: a Map counts what opens inside it before it opens itself, so that it does not end
    -- at once.
    for v_step in
        select t.step_run_id, t.waits_for
        from jsonb_to_recordset(v_touched) as t (step_run_id bigint, relation text, waits_for bigint[], reopened boolean)
        where t.reopened
        order by t.relation desc, array_position(v_around, t.step_run_id), t.step_run_id
    loop
        perform stepwell._correction_open(p_tenant_id, v_step.step_run_id, p_unit_id, p_actor, p_reason, p_approval_id,
            p_downstream, v_step.waits_for, null);
        v_open_ids := v_open_ids || v_step.step_run_id;
    end loop;
    perform stepwell._correction_rest(p_tenant_id, v_failed_ids, v_open_ids, p_actor, jsonb_build_object(
        'audit_ref', 'approval:' || p_approval_id, 'approval_id', p_approval_id, 'prior_audit_id', v_root.prior_audit_id,
        'correction_reason', p_reason));
    perform stepwell._approvals_outlived(p_tenant_id, stepwell._run_of(a.unit_id)),
        stepwell._subrun_states_show(array[p_tenant_id], array[stepwell._run_of(a.unit_id)])
    from unnest(v_around) as a (unit_id) where stepwell._unit_no(a.unit_id) = 0;
    return stepwell._step_leave(p_tenant_id, p_unit_id, 'step_reopen_for_correction', p_key, jsonb_build_object(
        'ok', true, 'cycle_no', v_root.cycle_no, 'prior_audit_id', v_root.prior_audit_id,
        'original_output_snapshot_id', v_root.snapshot_id, 'approval_id', p_approval_id, 'downstream', v_touched));
end
$$;

-- Checks that this step or task may be opened again: it has ended, it is a human step, an operation or a task, nothing around it was
-- cancelled or replaced, and this approval was granted for it. Returns the state in which it ended.
-- Raises: SW001 for an unknown choice; SW003 when it cannot be opened; SW004 when the approval is missing.
create or replace function stepwell._correction_check(
    p_tenant_id int, p_unit_id bigint, p_approval_id bigint, p_downstream text
) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_step record;
    v_lost record;
begin
    if p_downstream is null or p_downstream not in ('leave', 'reopen') then
        raise exception using errcode = 'SW001', column = 'downstream', message = 'downstream: leave or reopen is accepted';
    end if;
    select u.state_code, u.parent_id, u.item_no, coalesce(d.step_kind, u.scope) as step_kind into v_step
    from stepwell.work_unit as u
    left join stepwell.workflow_step_def as d
        on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id and u.scope in ('step', 'task');
    if v_step.state_code is null or v_step.step_kind not in ('human', 'operation', 'task') then
        raise exception using errcode = 'SW003', message = format('%s cannot be opened again: only human and operation steps, and tasks, can',
            stepwell._title_of(p_tenant_id, p_unit_id));
    end if;
    if v_step.state_code not in ('completed', 'cannot_complete') then
        raise exception using errcode = 'SW003',
            message = format('%s is %s; only an ended step can be opened again', stepwell._title_of(p_tenant_id, p_unit_id), v_step.state_code);
    end if;
    if v_step.item_no is not null and v_step.parent_id is null then
        raise exception using errcode = 'SW003',
            message = format('%s belongs to an earlier item; its map has created its items again', stepwell._title_of(p_tenant_id, p_unit_id));
    end if;
    select a.unit_id, a.scope, a.state_code, (select stepwell._run_of(max(n.unit_id)) from stepwell.work_unit as n
        inner join stepwell.work_unit as w on w.tenant_id = n.tenant_id and w.unit_id = a.unit_id
        where n.tenant_id = p_tenant_id and n.parent_id = w.parent_id and n.scope = 'workflow_run') as latest_run_id
    into v_lost
    from stepwell._correction_around(p_tenant_id, p_unit_id) as a
    where a.state_code not in ('ready', 'in_progress', 'overdue', 'waiting', 'blocked', 'paused', 'completed', 'cannot_complete', 'failed')
        or (a.scope = 'workflow_run' and exists (select from stepwell.work_unit as n
            inner join stepwell.work_unit as w on w.tenant_id = n.tenant_id and w.unit_id = a.unit_id
            where n.tenant_id = p_tenant_id and n.parent_id = w.parent_id and n.scope = 'workflow_run'
                and n.unit_id > a.unit_id))
    order by a.place limit 1;
    if found then
        raise exception using errcode = 'SW003', message = case
            when v_lost.scope = 'workflow_run' and v_lost.state_code = 'cancelled'
                then format('run %s is cancelled and cannot continue', stepwell._run_of(v_lost.unit_id))
            when v_lost.scope = 'workflow_run'
                then format('run %s was replaced by run %s', stepwell._run_of(v_lost.unit_id), v_lost.latest_run_id)
            else format('%s, around it, is %s and cannot continue', stepwell._title_of(p_tenant_id, v_lost.unit_id), v_lost.state_code) end;
    end if;
    if not stepwell._approval_granted(p_tenant_id, p_approval_id, 'reopen', p_unit_id) then
        perform stepwell._refuse(p_tenant_id, p_unit_id, null, array['transition_refused_by_guard:reopen_approved'], '{}');
    end if;
    return v_step.state_code;
end
$$;

-- What is around a step or task, from the inside to the outside: the step of the task, the Maps it is an item of, its run, the step around a sub-run,
-- and so on up to the outermost run.
create or replace function stepwell._correction_around(p_tenant_id int, p_unit_id bigint)
returns table (place int, unit_id bigint, scope text, state_code text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with recursive around as (
        select 0 as place, u.unit_id, u.scope, u.state_code, u.parent_id from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id
        union all
        select a.place + 1, u.unit_id, u.scope, u.state_code, u.parent_id
        from around as a
        inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.unit_id = coalesce(a.parent_id,
            case a.scope when 'step' then stepwell._run_unit(stepwell._run_of(a.unit_id)) end)
        where a.place < 1000
    )
    select a.place, a.unit_id, a.scope, a.state_code from around as a where a.place > 0 order by a.place
$$;

-- A run that has ended continues (W7), because a step of it is opened again. A run that has not ended only gets the
-- mark needs_attention.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._correction_run_open(
    p_tenant_id int, p_run_id bigint, p_actor text, p_reason text, p_approval_id bigint
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    update stepwell.run_progress as p set needs_attention = true where p.tenant_id = p_tenant_id and p.run_id = p_run_id;
    if stepwell._run_state(p_tenant_id, p_run_id) in ('completed', 'failed') then
        perform stepwell._units_move(array[p_tenant_id], array[stepwell._run_unit(p_run_id)], 'in_progress', 'reviewer', 'rpc',
            'workflow_reopen', p_actor,
            array[jsonb_build_object('audit_ref', 'approval:' || p_approval_id, 'approval_id', p_approval_id)],
            array[jsonb_strip_nulls(jsonb_build_object('reason', p_reason, 'approval_id', p_approval_id))]);
        update stepwell.run_detail as r set finished_state = null, finished_at = null
        where r.tenant_id = p_tenant_id and r.run_id = p_run_id;
        perform stepwell._evidence_renew(array[p_tenant_id], array[stepwell._run_unit(p_run_id)]);
        perform stepwell._graph_reopened(p_tenant_id, p_run_id);
    end if;
end
$$;

-- Opens one ended step again (T8r, T12r) after its record is written. The corrected step itself continues: a human step
-- with a new deadline, an operation in the queue unless a person is named. A step that depends on it waits for it. A
-- Map or sub-workflow around it is in progress again.
-- Raises: SW003 when the approval has opened this step before; SW004 when the registry refuses.
create or replace function stepwell._correction_open(
    p_tenant_id int, p_unit_id bigint, p_root_unit_id bigint, p_actor text, p_reason text, p_approval_id bigint,
    p_downstream text, p_waits_for bigint[], p_person_id bigint
) returns stepwell.step_run_correction_cycle
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_cycle stepwell.step_run_correction_cycle;
    v_unit stepwell.work_unit;
    v_closing_state constant text := (select u.state_code from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id);
    v_evidence jsonb;
begin
    v_cycle := stepwell._correction_record(p_tenant_id, p_unit_id, p_root_unit_id, p_actor, p_reason, p_approval_id,
        p_downstream, p_waits_for);
    v_evidence := jsonb_strip_nulls(jsonb_build_object('audit_ref', 'approval:' || p_approval_id, 'approval_id', p_approval_id,
        'prior_audit_id', v_cycle.prior_audit_id, 'correction_reason', p_reason,
        'original_output_snapshot_id', v_cycle.snapshot_id));
    perform stepwell._step_move(p_tenant_id, p_unit_id, 'in_progress', 'reviewer', 'rpc', 'step_reopen_for_correction', p_actor,
        v_evidence, v_evidence - 'audit_ref' || case when v_closing_state = 'completed'
            then jsonb_build_object('prior_completed_audit_id', v_cycle.prior_audit_id) else '{}' end);
    if p_person_id is not null then
        perform stepwell._pic_change(p_tenant_id, p_unit_id, p_person_id, p_actor, p_reason);
    end if;
    perform stepwell._wakes_forget(p_tenant_id, array[p_unit_id]);
    -- A task has no definition of its own, and keeps its deadline.
    update stepwell.work_unit as u set attempt_count = 0, deadline_at = coalesce((
        select stepwell._deadline_of(d.tenant_id, d.config, stepwell.now()) from stepwell.workflow_step_def as d
        where d.tenant_id = u.tenant_id and d.version_id = u.version_id and d.step_no = u.def_no), u.deadline_at)
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id
    returning u.* into v_unit;
    perform stepwell._tasks_reinstate(p_tenant_id, array[p_unit_id], p_actor, v_evidence),
        stepwell._tasks_begin(p_tenant_id, array[p_unit_id]);
    update stepwell.job_dead_letter as l set resolved_at = stepwell.now(), resolution = 'reopened'
    where l.tenant_id = p_tenant_id and l.unit_id = p_unit_id and l.resolved_at is null;
    if cardinality(p_waits_for) > 0 then
        perform stepwell._units_move(array[p_tenant_id], array[p_unit_id], 'waiting', 'mow_orchestrator', 'condition_resolved',
            null, 'engine', array['{"waiting_facet": "waiting_dependency"}'::jsonb],
            array['{"waiting_facet": "waiting_dependency"}'::jsonb]);
    elsif p_unit_id = p_root_unit_id and v_unit.executor_class_id is not null and v_unit.pic_id is null then
        perform stepwell._units_move(array[p_tenant_id], array[p_unit_id], 'ready', 'executor_worker', 'rpc', 'step_release',
            p_actor, array[v_evidence]);
        perform stepwell._slots_take(array[p_tenant_id], array[p_unit_id]);
    end if;
    -- The person is shown what holds now; a step that waits for others is shown it when it continues.
    if coalesce(cardinality(p_waits_for), 0) = 0 then
        perform stepwell._inputs_store(p_tenant_id, p_unit_id);
    end if;
    perform stepwell._people_timers(p_tenant_id, array[p_unit_id]);
    return v_cycle;
end
$$;

-- Records how a step had ended before it is opened again: the audit row, a snapshot of its output, and the correction
-- cycle that refers to both.
-- Raises: SW003 when the approval has opened this step before.
create or replace function stepwell._correction_record(
    p_tenant_id int, p_unit_id bigint, p_root_unit_id bigint, p_actor text, p_reason text, p_approval_id bigint,
    p_downstream text, p_waits_for bigint[]
) returns stepwell.step_run_correction_cycle
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_end record;
    v_output record;
    v_cycle stepwell.step_run_correction_cycle;
begin
    if p_unit_id = p_root_unit_id and exists (select from stepwell.step_run_correction_cycle as c
        where c.tenant_id = p_tenant_id and c.unit_id = p_unit_id and c.root_unit_id = p_unit_id
            and c.approval_id = p_approval_id) then
        raise exception using errcode = 'SW003',
            message = format('approval %s has already opened %s; another one is required',
                stepwell._unit_ref(p_approval_id), stepwell._title_of(p_tenant_id, p_unit_id));
    end if;
    select e.event_id, e.at, e.to_state, e.actor, e.actor_class, e.audit_ref, e.request_id into v_end
    from stepwell.event_log as e
    where e.tenant_id = p_tenant_id and e.run_id = stepwell._run_of(p_unit_id) and e.unit_id = p_unit_id and e.to_state is not null
    order by e.event_id desc limit 1;
    select o.lease_no, o.output into v_output
    from stepwell.unit_output as o
    where o.tenant_id = p_tenant_id and o.unit_id = p_unit_id
    order by o.lease_no desc limit 1;
    insert into stepwell.step_run_prior_audit (
        tenant_id, unit_id, closing_state, closed_at, closed_by, actor_class, audit_ref, event_id, output, written_at)
    values (p_tenant_id, p_unit_id, v_end.to_state, v_end.at, v_end.actor, v_end.actor_class, v_end.audit_ref,
        v_end.event_id, v_output.output, v_now)
    returning prior_audit_id into v_cycle.prior_audit_id;
    -- A step that completed without an output has null as its snapshot.
    if v_output.output is not null or v_end.to_state = 'completed' then
        insert into stepwell.step_run_output_snapshot (tenant_id, unit_id, lease_no, output, taken_at)
        values (p_tenant_id, p_unit_id, coalesce(v_output.lease_no, v_end.request_id), coalesce(v_output.output, 'null'), v_now)
        returning snapshot_id into v_cycle.snapshot_id;
    end if;
    insert into stepwell.step_run_correction_cycle (
        tenant_id, unit_id, cycle_no, root_unit_id, approval_id, correction_reason, prior_audit_id, snapshot_id,
        downstream_choice, waits_for, reopened_by, reopened_at)
    select p_tenant_id, p_unit_id, 1 + count(*), p_root_unit_id, p_approval_id, coalesce(p_reason, ''), v_cycle.prior_audit_id,
        v_cycle.snapshot_id, p_downstream, coalesce(p_waits_for, '{}'), p_actor, v_now
    from stepwell.step_run_correction_cycle as c
    where c.tenant_id = p_tenant_id and c.unit_id = p_unit_id
    returning * into v_cycle;
    return v_cycle;
end
$$;

-- What else changes when a correction opens steps: steps that were cancelled because of them wait again, items that a
-- failed Map had cancelled begin, and steps that have not begun wait for the opened ones.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._correction_rest(
    p_tenant_id int, p_failed_ids bigint[], p_open_ids bigint[], p_actor text, p_evidence jsonb
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_unit_id bigint;
    v_waiting_ids bigint[];
begin
    foreach v_unit_id in array p_failed_ids loop
        perform stepwell._dependents_reinstate(p_tenant_id, array[v_unit_id], p_actor, p_evidence);
    end loop;
    v_waiting_ids := array(
        select distinct s.unit_id
        from stepwell.work_unit as u
        inner join stepwell.workflow_step_relations as r
            on u.tenant_id = r.tenant_id and u.version_id = r.version_id and u.def_no = r.from_no
        inner join stepwell.work_unit as s on s.tenant_id = u.tenant_id and s.unit_id = u.unit_id + r.to_no - u.def_no
        where u.tenant_id = p_tenant_id and u.unit_id = any (p_open_ids) and s.state_code = 'not_started'
        order by s.unit_id);
    perform stepwell._pending_recount(p_tenant_id, v_waiting_ids);
    perform stepwell._joins_recount(p_tenant_id, v_waiting_ids);
    perform stepwell._items_release(p_tenant_id, p_failed_ids);
end
$$;
