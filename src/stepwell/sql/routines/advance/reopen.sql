-- Ended steps are opened again: by a replay that was granted, or by a correction. Steps that were cancelled because of
-- them wait again. Callers hold the lock of the run or the job. SW004: the registry refuses.

-- Carries out the granted replay requests of an approval that are not carried out yet.
create or replace function stepwell._replay_apply(p_tenant_id int, p_approval_id bigint, p_actor text) returns jsonb
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    return stepwell._replay_carry(p_tenant_id, p_approval_id, array(
        select r.replay_request_id from stepwell.dlq_replay_request as r
        where r.tenant_id = p_tenant_id and r.approval_id = p_approval_id and r.proposal_state = 'submitted'), p_actor);
end
$$;

-- Carries out these granted replay requests, all of one run or of one job: the failed run continues, dead units become ready
-- with their full number of attempts, and what was cancelled because of them waits again. Their history stays. Requests that
-- were rejected or carried out are left alone.
create or replace function stepwell._replay_carry(p_tenant_id int, p_approval_id bigint, p_request_ids bigint[], p_actor text)
returns jsonb
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_dead record;
    v_engine record;
    v_count int;
begin
    with taken as (
        update stepwell.dlq_replay_request as r set proposal_state = 'merged', replay_state = 'scheduled', scheduled_at = v_now
        where r.tenant_id = p_tenant_id and r.approval_id = p_approval_id and r.replay_request_id = any (p_request_ids)
            and r.proposal_state in ('submitted', 'approved') and r.replay_state is null
        returning r.unit_id, r.replay_request_id
    )
    select
        array_agg(p_tenant_id) as tenant_ids, array_agg(t.unit_id order by t.unit_id) as unit_ids,
        min(t.replay_request_id) as first_id,
        array_agg(jsonb_build_object('replay_request_id', t.replay_request_id, 'approval_id', p_approval_id,
            'audit_ref', 'approval:' || p_approval_id) order by t.unit_id) as evidence
    into v_dead
    from taken as t;
    perform stepwell._units_move(array_agg(u.tenant_id), array_agg(u.unit_id), 'in_progress', 'system', 'event',
        'replay_approved', p_actor, array[v_dead.evidence[1]],
        array[jsonb_build_object('approval_id', p_approval_id, 'reason', 'replay')])
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = stepwell._run_unit(stepwell._run_of(v_dead.unit_ids[1]))
        and u.scope = 'workflow_run' and u.state_code = 'failed';
    update stepwell.run_detail as r set finished_state = null, finished_at = null
    where r.tenant_id = p_tenant_id and r.run_id = stepwell._run_of(v_dead.unit_ids[1]);
    perform stepwell._evidence_renew(array[p_tenant_id], v_dead.unit_ids[1:1]);
    perform stepwell._graph_reopened(p_tenant_id, stepwell._run_of(v_dead.unit_ids[1]));
    perform stepwell._replay_units(p_tenant_id, v_dead.unit_ids, v_dead.evidence, p_actor);
    update stepwell.job_dead_letter as d set resolved_at = v_now, resolution = 'replayed'
    where d.tenant_id = p_tenant_id and d.unit_id = any (v_dead.unit_ids) and d.resolved_at is null;
    -- Before the steps of the engine are carried out: one of them may end at once and release what comes after it.
    v_count := stepwell._dependents_reinstate(p_tenant_id, v_dead.unit_ids, p_actor, v_dead.evidence[1]);
    perform stepwell._items_release(p_tenant_id, v_dead.unit_ids);
    perform stepwell._slots_take(v_dead.tenant_ids, v_dead.unit_ids);
    select array_agg(u.tenant_id order by u.unit_id) as tenant_ids, array_agg(u.unit_id order by u.unit_id) as unit_ids
    into v_engine
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = any (v_dead.unit_ids) and u.executor_class_id is null and u.scope = 'step';
    if v_engine.unit_ids is not null then
        perform stepwell._engine_steps(v_engine.tenant_ids, v_engine.unit_ids);
    end if;
    perform stepwell._subrun_states_show(array[p_tenant_id], array[stepwell._run_of(v_dead.unit_ids[1])]);
    return jsonb_build_object('state', 'replayed', 'approval_id', p_approval_id, 'unit_ids', v_dead.unit_ids,
        'reinstated_count', v_count);
end
$$;

-- Makes dead units ready again. A Map that has its items continues with them: it is opened first, one Map at a time,
-- because each unit that opens inside it is counted in the row of the Map.
create or replace function stepwell._replay_units(
    p_tenant_id int, p_unit_ids bigint[], p_evidence jsonb[], p_actor text
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_map record;
    v_rest record;
begin
    update stepwell.work_unit as u set attempt_count = 0
    where u.tenant_id = p_tenant_id and u.unit_id = any (p_unit_ids);
    perform stepwell._wakes_forget(p_tenant_id, p_unit_ids);
    perform stepwell._steps_take_back(array_fill(p_tenant_id, array[coalesce(cardinality(p_unit_ids), 0)]), p_unit_ids);
    for v_map in
        select q.unit_id, q.evidence
        from unnest(p_unit_ids, p_evidence) as q (unit_id, evidence)
        where exists (select from stepwell.map_item as m where m.tenant_id = p_tenant_id and m.unit_id = q.unit_id)
        order by q.unit_id
    loop
        perform stepwell._units_move(array[p_tenant_id], array[v_map.unit_id], 'ready', 'system', 'event', 'replay_approved',
            p_actor, array[v_map.evidence], array[v_map.evidence]);
        perform stepwell._units_move(array[p_tenant_id], array[v_map.unit_id], 'in_progress', 'mow_orchestrator',
            'condition_resolved', null, 'engine');
    end loop;
    select array_agg(p_tenant_id) as tenant_ids, array_agg(q.unit_id order by q.unit_id) as unit_ids,
        array_agg(q.evidence order by q.unit_id) as evidence
    into v_rest
    from unnest(p_unit_ids, p_evidence) as q (unit_id, evidence)
    where not exists (select from stepwell.map_item as m where m.tenant_id = p_tenant_id and m.unit_id = q.unit_id);
    perform stepwell._units_move(v_rest.tenant_ids, v_rest.unit_ids, 'ready', 'system', 'event', 'replay_approved', p_actor,
        v_rest.evidence, v_rest.evidence);
    perform stepwell._tasks_reinstate(p_tenant_id, p_unit_ids, p_actor, p_evidence[1]);
end
$$;

-- Units that begin again are not told what woke them before. The events that had woken them are kept again, for the next
-- unit that waits for them.
create or replace function stepwell._wakes_forget(p_tenant_id int, p_unit_ids bigint[]) returns void
language sql volatile
set search_path = stepwell, pg_temp
as $$
    delete from stepwell.unit_wake as w where w.tenant_id = p_tenant_id and w.unit_id = any (p_unit_ids);
    update stepwell.event_inbox as i set taken_by = null
    where i.tenant_id = p_tenant_id and i.taken_by = any (p_unit_ids);
$$;

-- Steps that were cancelled because these units failed wait again, if they can still be reached: not those that also
-- depend on another step that could not complete or was cancelled for another reason, and do not catch its failure.
-- Returns how many.
create or replace function stepwell._dependents_reinstate(
    p_tenant_id int, p_unit_ids bigint[], p_actor text, p_evidence jsonb
) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_run_id constant bigint := stepwell._run_of(p_unit_ids[1]);
    v_unit_ids bigint[];
begin
    with recursive aborted as materialized (
        select x.unit_id from (
            select distinct on (e.unit_id) e.unit_id, e.event_type
            from stepwell.event_log as e
            where e.tenant_id = p_tenant_id and e.run_id = v_run_id and e.to_state = 'cancelled'
            order by e.unit_id, e.event_id desc
        ) as x
        where x.event_type = 'step.aborted'
    ), down as (
        select u.unit_id, u.version_id, u.def_no from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id = any (p_unit_ids) and u.scope = 'step'
        union
        select s.unit_id, s.version_id, s.def_no
        from down as d
        cross join lateral stepwell._units_after(p_tenant_id, d.unit_id, d.version_id, d.def_no) as n (unit_id)
        inner join aborted as a on n.unit_id = a.unit_id
        cross join lateral (
            select x.unit_id, x.version_id, x.def_no, x.state_code from stepwell.work_unit as x
            where x.tenant_id = p_tenant_id and x.unit_id = n.unit_id offset 0
        ) as s
        where s.state_code = 'cancelled'
    ), lost as (
        select d.unit_id, d.version_id, d.def_no
        from down as d
        inner join stepwell.workflow_step_relations as r
            on r.tenant_id = p_tenant_id and r.version_id = d.version_id and r.to_no = d.def_no
        cross join lateral (
            select x.step_kind, x.config from stepwell.workflow_step_def as x
            where x.tenant_id = p_tenant_id and x.version_id = d.version_id and x.step_no = d.def_no offset 0
        ) as f
        cross join lateral (
            select x.unit_id, x.state_code from stepwell.work_unit as x
            where x.tenant_id = p_tenant_id and x.unit_id = d.unit_id + r.from_no - d.def_no offset 0
        ) as b
        where not d.unit_id = any (p_unit_ids) and b.state_code in ('cancelled', 'cannot_complete')
            and not stepwell._catches(f.step_kind, f.config, r.from_no) and f.config ->> 'join' is distinct from 'any'
            and not exists (select from down as x where x.unit_id = b.unit_id)
        union
        select n.unit_id, n.version_id, n.def_no
        from lost as l
        cross join lateral stepwell._units_after(p_tenant_id, l.unit_id, l.version_id, l.def_no) as x (unit_id)
        inner join down as n on n.unit_id = x.unit_id
        cross join lateral (
            select y.config from stepwell.workflow_step_def as y
            where y.tenant_id = p_tenant_id and y.version_id = n.version_id and y.step_no = n.def_no offset 0
        ) as f
        where f.config ->> 'join' is distinct from 'any'
    )
    select array_agg(d.unit_id order by d.unit_id) into v_unit_ids
    from down as d
    where not d.unit_id = any (p_unit_ids) and not exists (select from lost as l where l.unit_id = d.unit_id);
    if v_unit_ids is not null then
        perform stepwell._units_move(array_fill(p_tenant_id, array[cardinality(v_unit_ids)]), v_unit_ids, 'not_started',
            'reviewer', 'event', case when p_evidence ? 'replay_request_id' then 'replay_approved' else 'reopen_approved' end,
            p_actor, array_fill(p_evidence, array[cardinality(v_unit_ids)]),
            array_fill(p_evidence, array[cardinality(v_unit_ids)]));
        perform stepwell._pending_recount(p_tenant_id, v_unit_ids);
        perform stepwell._wakes_forget(p_tenant_id, v_unit_ids);
        perform stepwell._steps_take_back(array_fill(p_tenant_id, array[cardinality(v_unit_ids)]), v_unit_ids);
        perform stepwell._tasks_reinstate(p_tenant_id, v_unit_ids, p_actor, p_evidence);
    end if;
    perform stepwell._conditionals_recount(p_tenant_id, p_unit_ids || v_unit_ids);
    perform stepwell._joins_recount(p_tenant_id, v_unit_ids);
    return coalesce(cardinality(v_unit_ids), 0);
end
$$;

-- The steps that depend on a step: those behind its edges and, of a Map, the steps of its items. Always by index: it is
-- asked for every step that waits again, and the plan may have been made while the tables were small.
create or replace function stepwell._units_after(p_tenant_id int, p_unit_id bigint, p_version_id int, p_def_no int)
returns setof bigint
language sql stable
set search_path = stepwell, pg_temp
set enable_seqscan = off
as $$
    select p_unit_id + r.to_no - p_def_no
    from stepwell.workflow_step_relations as r
    where r.tenant_id = p_tenant_id and r.version_id = p_version_id and r.from_no = p_def_no
    union all
    select u.unit_id
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.parent_id = p_unit_id and u.scope = 'step'
$$;

-- Conditionals after these units had counted the failures as ends: now that the units are open again, counts their open
-- predecessors again.
create or replace function stepwell._conditionals_recount(p_tenant_id int, p_unit_ids bigint[]) returns void
language sql volatile
set search_path = stepwell, pg_temp
as $$
    with after as materialized (
        select distinct o.unit_id + r.to_no - o.def_no as unit_id
        from unnest(p_unit_ids) as q (unit_id)
        inner join stepwell.work_unit as o on o.tenant_id = p_tenant_id and o.unit_id = q.unit_id
        inner join stepwell.workflow_step_relations as r
            on o.tenant_id = r.tenant_id and o.version_id = r.version_id and o.def_no = r.from_no
        cross join lateral (
            select x.step_kind from stepwell.workflow_step_def as x
            where x.tenant_id = r.tenant_id and x.version_id = r.version_id and x.step_no = r.to_no offset 0
        ) as d
        where d.step_kind = 'conditional'
    )
    update stepwell.work_unit as u set pending_count = (
        select count(*)
        from stepwell.workflow_step_relations as r
        cross join lateral (
            select x.state_code from stepwell.work_unit as x
            where x.tenant_id = u.tenant_id and x.unit_id = u.unit_id + r.from_no - u.def_no offset 0
        ) as b
        where r.tenant_id = u.tenant_id and r.version_id = u.version_id and r.to_no = u.def_no
            and not stepwell._has_ended(b.state_code))
    from after as a
    where u.tenant_id = p_tenant_id and u.unit_id = a.unit_id and u.state_code = 'not_started'
$$;

-- Counts the open predecessors of steps that wait again, and clears their end.
create or replace function stepwell._pending_recount(p_tenant_id int, p_unit_ids bigint[]) returns void
language sql volatile
set search_path = stepwell, pg_temp
as $$
    update stepwell.work_unit as u set attempt_count = 0, completed_at = stepwell._completion_kept(u), pending_count = (
        select count(*)
        from stepwell.workflow_step_relations as r
        cross join lateral (
            select x.state_code from stepwell.work_unit as x
            where x.tenant_id = u.tenant_id and x.unit_id = u.unit_id + r.from_no - u.def_no offset 0
        ) as b
        where r.tenant_id = u.tenant_id and r.version_id = u.version_id and r.to_no = u.def_no
            and b.state_code not in ('completed', 'skipped'))
    where u.tenant_id = p_tenant_id and u.unit_id = any (p_unit_ids)
$$;

-- Starts the items of these Maps that were cancelled with the Map and wait again: they have no predecessor that could
-- release them.
create or replace function stepwell._items_release(p_tenant_id int, p_map_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_free record;
begin
    select array_agg(p_tenant_id) as tenant_ids, array_agg(u.unit_id order by u.unit_id) as unit_ids, array_agg(0) as counts
    into v_free
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.parent_id = any (p_map_ids) and u.scope = 'step'
        and u.state_code = 'not_started' and u.pending_count = 0;
    perform stepwell._units_ready(v_free.tenant_ids, v_free.unit_ids, v_free.counts, true, true);
end
$$;
