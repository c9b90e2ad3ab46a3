-- The colour of a sub-run is the state of the step around it, and so it reaches the runs above: red is failed, yellow is
-- blocked, any other colour is in_progress. When the sub-run ends, the step ends with it.

-- Moves the steps around these runs to the state that the colour of the run requires. The counters and the colour of the run
-- above change with the step, and so on upwards. A step that is overdue stays so: its deadline has passed, whatever its run does.
-- Locks: the caller holds the runs. The runs above are locked out of order, so without waiting: when another
--   transaction holds one, the whole transaction ends with 55P03 and its client tries again. Where no step changes,
--   nothing is locked.
-- Raises: 55P03 when a run above is locked by another transaction (try again).
create or replace function stepwell._subrun_states_show(p_tenant_ids int[], p_run_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_child record;
    v_state text;
begin
    for v_child in
        select distinct p.tenant_id, p.run_id, p.parent_run_id, w.parent_id as unit_id, c.state_code
        from unnest(p_tenant_ids, p_run_ids) as q (tenant_id, run_id)
        -- Each by its key (offset 0): in a join with a state, a plan for young tables reads all units of the tenant.
        cross join lateral (
            select r.tenant_id, r.run_id, r.parent_run_id, r.rollup_state_code from stepwell.run_progress as r
            where r.tenant_id = q.tenant_id and r.run_id = q.run_id offset 0
        ) as p
        cross join lateral (
            select u.parent_id, u.state_code from stepwell.work_unit as u
            where u.tenant_id = p.tenant_id and u.unit_id = stepwell._run_unit(p.run_id) and p.parent_run_id is not null offset 0
        ) as w
        cross join lateral (
            select u.state_code from stepwell.work_unit as u
            where u.tenant_id = p.tenant_id and u.unit_id = w.parent_id offset 0
        ) as s
        cross join lateral (select stepwell._subrun_state(p.rollup_state_code) as state_code) as c
        where w.state_code in ('in_progress', 'paused') and s.state_code in ('in_progress', 'failed', 'blocked')
            and s.state_code <> c.state_code
        order by p.tenant_id, p.parent_run_id, w.parent_id
    loop
        perform 1 from stepwell.run_progress as p
        where p.tenant_id = v_child.tenant_id and p.run_id = v_child.parent_run_id
        for update nowait;
        -- Read again: now that the run is locked, nobody else changes the step.
        select s.state_code into v_state from stepwell.work_unit as s
        where s.tenant_id = v_child.tenant_id and s.unit_id = v_child.unit_id;
        continue when v_state not in ('in_progress', 'failed', 'blocked') or v_state = v_child.state_code;
        perform stepwell._subrun_state_set(v_child.tenant_id, v_child.unit_id, v_child.run_id, v_child.state_code);
        if v_child.state_code = 'blocked' then
            perform stepwell._blocks_weigh(v_child.tenant_id, v_child.parent_run_id);
        end if;
        perform stepwell._subrun_states_show(array[v_child.tenant_id], array[v_child.parent_run_id]);
    end loop;
end
$$;

-- Moves one step to the state that its sub-run requires: it failed, without an attempt of its own that is counted (T9c); it
-- is blocked by its sub-run (T4c); it continues (T4d, T10c).
-- Locks: the caller holds the run of the step.
create or replace function stepwell._subrun_state_set(p_tenant_id int, p_unit_id bigint, p_run_id bigint, p_state_code text)
returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_ref constant text := 'run:' || p_run_id;
    v_payload jsonb := jsonb_build_object('run_id', p_run_id);
begin
    if p_state_code = 'failed' then
        v_payload := v_payload || '{"classification": "transient", "failure_class": "subworkflow_red"}';
    elsif p_state_code = 'blocked' then
        v_payload := v_payload || '{"block_reason": "subworkflow_waiting", "waiting_facet": "waiting_dependency"}';
        insert into stepwell.step_block as b (tenant_id, unit_id, block_reason, detail, blocked_by, blocked_at)
        values (p_tenant_id, p_unit_id, 'subworkflow_waiting', v_ref, 'engine', stepwell.now())
        on conflict (tenant_id, unit_id) do update set block_reason = excluded.block_reason, detail = excluded.detail,
            blocked_by = excluded.blocked_by, blocked_at = excluded.blocked_at, escalated_at = null, escalated_by = null;
    end if;
    perform stepwell._units_move(array[p_tenant_id], array[p_unit_id], p_state_code, 'mow_orchestrator', 'event',
        case p_state_code when 'failed' then 'executor_failure' when 'blocked' then 'subworkflow_yellow'
            else 'subworkflow_recovered' end, 'engine',
        array[jsonb_build_object('audit_ref', v_ref, 'resolution_ref', v_ref, 'block_reason', 'subworkflow_waiting')],
        array[v_payload]);
    delete from stepwell.timer as t
    where t.tenant_id = p_tenant_id and t.unit_id = p_unit_id and t.timer_kind = 'block_severity';
    perform stepwell._people_timers(p_tenant_id, array[p_unit_id]);
end
$$;

-- Steps whose sub-run ends, or is ended, continue first: what ends them begins in in_progress.
-- Locks: the caller holds the runs of the steps.
create or replace function stepwell._subrun_steps_continue(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._subrun_state_set(u.tenant_id, u.unit_id, (select stepwell._run_of(max(w.unit_id)) from stepwell.work_unit as w
        where w.tenant_id = u.tenant_id and w.parent_id = u.unit_id and w.scope = 'workflow_run'), 'in_progress')
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where u.state_code in ('failed', 'blocked');
end
$$;

-- Counts the blocked steps of a run by their severity, where the policy blocked_escalation_treats_as_red says so: a
-- step that turned red moves from the waiting to the red ones, and back.
-- Locks: the caller holds the run.
create or replace function stepwell._blocks_weigh(p_tenant_id int, p_run_id bigint) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_treats_as_red constant boolean := coalesce((
        select bool_or((p.policy_config_jsonb ->> 'blocked_escalation_treats_as_red')::boolean)
        from stepwell.rollup_policy_def as p where p.active), false);
    v_moved int;
begin
    with changed as (
        update stepwell.work_unit as u set blocked_escalated = not u.blocked_escalated
        where u.tenant_id = p_tenant_id and u.unit_id between stepwell._run_unit(p_run_id) + 1 and stepwell._run_last(p_run_id)
            and u.state_code = 'blocked' and u.blocked_escalated
                <> (v_treats_as_red and stepwell.fn_step_blocked_severity(u.unit_id, u.tenant_id) = 'red')
        returning u.blocked_escalated, u.mandatory and u.scope = 'step' as counts
    )
    select (count(*) filter (where c.blocked_escalated) - count(*) filter (where not c.blocked_escalated))::int into v_moved
    from changed as c
    where c.counts;
    if v_moved <> 0 then
        update stepwell.run_progress as p set
            red_count = p.red_count + v_moved, wait_count = p.wait_count - v_moved, last_rollup_at = stepwell.now(),
            rollup_state_code = case when p.frozen_at is not null then p.rollup_state_code else
                stepwell._rollup_colour(p.red_count + v_moved, p.wait_count - v_moved, p.active_count) end
        where p.tenant_id = p_tenant_id and p.run_id = p_run_id;
        perform stepwell._subrun_states_show(array[p_tenant_id], array[p_run_id]);
    end if;
end
$$;

-- Checks the rules of the active run machine after every change, and applies them: the colour of every run follows at once.
-- The rules R-2, R-3, R-4 and R-6 of the source document are binding: they have one meaning and cannot be switched off.
-- Locks: rollup_rule, then the runs whose colour changes, and the runs above them.
-- Raises: SW004 naming the policy, the switch and what is accepted; 55P03 when a run above is locked (try again).
create or replace function stepwell._rollup_policy_apply() returns trigger
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_problem text := stepwell._rollup_policy_problem();
    v_changed record;
begin
    if v_problem is not null then
        raise exception using errcode = 'SW004', column = 'policy_config_jsonb', message = v_problem;
    end if;
    refresh materialized view stepwell.rollup_rule;
    with changed as (
        update stepwell.run_progress as p set
            rollup_state_code = stepwell._rollup_colour(p.red_count, p.wait_count, p.active_count), last_rollup_at = stepwell.now()
        where p.frozen_at is null and p.rollup_state_code <> stepwell._rollup_colour(p.red_count, p.wait_count, p.active_count)
        returning p.tenant_id, p.run_id, p.parent_run_id
    )
    select array_agg(c.tenant_id order by c.run_id desc) as tenant_ids, array_agg(c.run_id order by c.run_id desc) as run_ids
    into v_changed
    from changed as c where c.parent_run_id is not null;
    perform stepwell._subrun_states_show(v_changed.tenant_ids, v_changed.run_ids);
    return null;
end
$$;
create or replace trigger rollup_policy_takes_effect
after insert or update or delete on stepwell.rollup_policy_def
for each statement execute function stepwell._rollup_policy_apply();
