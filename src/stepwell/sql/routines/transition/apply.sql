-- The transition core: the only code that changes a state.

-- Takes n requests for state changes and their common cause. It checks each against the registry, applies those that
-- hold, appends one event for each change, queues what became ready and moves the counters of the runs. Single calls
-- and batches both come here. A unit that another transaction changed meanwhile is checked in its new state. A request
-- that does not hold is left out of the result: callers count, and _transition_judge gives the reason.
-- - Requests from number cause.engine_from on are made by the engine itself: so completed steps and the successors they
--   release, or a new run and its first steps, change in one statement.
-- - Direct lease: the first cause.direct_count of those become ready and in_progress in one change, leased to the
--   session cause.direct_session_id, where the registry has the ordinary rule of the claim
--   (transition_rule.leases_directly). Both events are appended.
-- - Runs whose counters moved and that may have to be settled are returned as due.
-- Locks: the unit rows it changes, in the order given (callers pass ids in ascending order and already hold the runs);
--   then run_progress of the runs whose counters move.
-- Settings: those of the caller, who sets the search path and how plans are made. To set them again costs a single call
--   five percent of its time.
create or replace function stepwell._transition_apply(
    p_requests stepwell.transition_request[], p_cause stepwell.transition_cause,
    out applied_count int, out applied_ids bigint[], out slot_tenant_ids int[], out slot_ids bigint[], out direct_ids bigint[],
    out due_tenant_ids int[], out due_ids bigint[]
)
language plpgsql volatile
as $$
declare
    -- The fields of the cause are variables: the statement reads them for each request, and a field of a record costs more.
    v_now constant timestamptz := coalesce(p_cause.at, stepwell.now());
    v_session_id constant bigint := p_cause.session_id;
    v_session constant text := 'session:' || v_session_id;
    v_actor constant text := coalesce(p_cause.actor, v_session);
    v_actor_class constant text := p_cause.actor_class;
    v_trigger_kind constant text := p_cause.trigger_kind;
    v_trigger_ref constant text := p_cause.trigger_ref;
    v_direct_session_id constant bigint := p_cause.direct_session_id;
    v_direct_session constant text := 'session:' || v_direct_session_id;
    v_engine_from constant int := coalesce(p_cause.engine_from, cardinality(p_requests) + 1);
    v_direct_until constant int := v_engine_from + case when v_direct_session_id is null then 0 else p_cause.direct_count end;
    v_changes stepwell.unit_change[];
begin
    with changed as (
        update stepwell.work_unit as n set
            state_code = t.reached_state,
            last_transition_at = v_now,
            lease_session_id = case t.reached_state
                when 'in_progress' then case when t.leases_directly then v_direct_session_id
                    when t.from_state = 'overdue' then n.lease_session_id else v_session_id end
                when 'overdue' then n.lease_session_id end,
            lease_no = case when t.reached_state = 'in_progress' and t.from_state <> 'overdue' then n.lease_no + 1 else n.lease_no end,
            pending_count = case when t.from_state = 'not_started' then 0 else n.pending_count end,
            attempt_count = case
                -- A step whose sub-run is red has failed, and its attempt goes on.
                when t.reached_state = 'failed' then n.attempt_count + (q.payload ->> 'failure_class' is distinct from 'subworkflow_red')::int
                when t.reached_state = 'ready' and v_trigger_ref = 'lease_expired' then n.attempt_count + 1
                else n.attempt_count end,
            started_at = case when t.reached_state = 'in_progress' then coalesce(n.started_at, v_now) else n.started_at end,
            -- The first completion is never erased; a death is, when the unit is opened again.
            completed_at = case when t.to_settled then coalesce(n.completed_at, v_now)
                when t.from_state = 'cannot_complete' then stepwell._completion_kept(n) else n.completed_at end,
            waiting_facet = case t.reached_state when 'waiting' then q.payload ->> 'waiting_facet'
                when 'blocked' then case q.payload ->> 'waiting_facet' when 'waiting_dependency' then 'waiting_dependency' end end,
            waiting_facets = case when t.reached_state = 'waiting' then stepwell._texts_of(q.payload -> 'waiting_facets') end,
            failure_class = case when t.reached_state = 'failed' then q.payload ->> 'failure_class' else n.failure_class end,
            overdue_first_at = case when t.reached_state = 'overdue' or (t.to_settled and n.deadline_at < v_now)
                then coalesce(n.overdue_first_at, n.deadline_at) else n.overdue_first_at end,
            completed_after_deadline = n.completed_after_deadline or (t.reached_state = 'completed'
                and coalesce(n.deadline_at < v_now or n.overdue_first_at is not null, false)),
            -- The first late completion, as completed_at is the first completion; the event has those of this one.
            sla_breach_duration = case when t.reached_state = 'completed' and n.deadline_at < v_now
                then coalesce(n.sla_breach_duration, v_now - n.deadline_at) else n.sla_breach_duration end
        from unnest(p_requests) with ordinality
            as q (tenant_id, unit_id, to_state, from_state, evidence, payload, released_count, lease_no, ord)
        cross join lateral (select
            q.ord >= v_engine_from as by_engine,
            case when q.ord >= v_engine_from then 'mow_orchestrator' else v_actor_class end as actor_class) as w
        cross join stepwell.transition_rule as t
        where n.tenant_id = q.tenant_id and n.unit_id = q.unit_id
            and t.state_machine_id = n.state_machine_id and t.from_state = n.state_code and t.to_state = q.to_state
            and t.actor_class = w.actor_class and t.leases_directly = (q.ord >= v_engine_from and q.ord < v_direct_until)
            and (n.operation_id is not null or t.reached_state = t.to_state)
            and stepwell._transition_problems(n, t, q.from_state, q.to_state, q.evidence, q.payload, q.released_count,
                q.lease_no, w.actor_class, w.by_engine, v_trigger_kind, v_trigger_ref, v_session_id, v_now, false) = ''
        returning
            q.evidence, t.actor_class, w.by_engine, t.from_state, t.to_state as first_state, t.reached_state as to_state,
            t.event_type, t.claim_event_type, t.to_class, t.from_settled::int - t.to_settled::int as open_count,
            -- A block that counts as red is counted out of the red ones. The mark belongs to the state that is left; it is
            -- still set here, and _marks_clear removes it after the counting.
            case when n.blocked_escalated then 'red' else t.from_class end as from_class,
            case when n.completed_after_deadline and t.reached_state = 'completed'
                then coalesce(q.payload, '{}') || jsonb_build_object('completed_after_deadline', true,
                    'overdue_first_at', n.overdue_first_at, 'sla_breach_duration',
                    case when n.deadline_at < v_now then v_now - n.deadline_at else n.sla_breach_duration end)
                else q.payload end as payload,
            -- Steps of the items of a Map: the Map counts those that have not ended.
            case when n.scope = 'step' and t.from_settled <> t.to_settled then n.parent_id end as map_id,
            case when t.reached_state = 'ready' and n.slot_key is null then n.executor_class_id end as queue_executor_class_id, n.operation_id,
            n.blocked_escalated or n.failure_caught or n.has_deadline as is_marked,
            n.slot_key is not null as has_slot,
            n.failure_caught, n.priority, n.tenant_id, n.unit_id, n.lease_no, n.mandatory::int as weight, n.scope
    ), appended as (
        insert into stepwell.event_log (
            tenant_id, at, run_id, unit_id, request_id, event_type, from_state, to_state,
            actor_class, actor, audit_ref, trace_id, correlation_id, payload)
        select
            c.tenant_id, v_now, stepwell._run_of(c.unit_id), c.unit_id,
            case when c.claim_event_type is null or e.is_claim then c.lease_no else c.lease_no - 1 end,
            case when e.is_claim then c.claim_event_type else c.event_type end,
            case when e.is_claim then c.first_state else c.from_state end,
            case when e.is_claim then c.to_state else c.first_state end,
            case when e.is_claim then 'executor_worker' else c.actor_class end,
            case when e.is_claim then v_direct_session when c.by_engine then 'engine' else v_actor end,
            case when e.is_claim then v_direct_session when not c.by_engine then coalesce(c.evidence ->> 'audit_ref', v_session) end,
            c.evidence ->> 'trace_id', c.evidence ->> 'correlation_id', c.payload
        from changed as c
        cross join lateral (values (false, true), (true, c.claim_event_type is not null)) as e (is_claim, happened)
        where e.happened
    ), delta as (
        select
            c.tenant_id, stepwell._run_of(c.unit_id) as run_id,
            sum(c.open_count) as open_count,
            sum(c.weight * ((c.to_class = 'idle')::int - (c.from_class = 'idle')::int)) as idle_count,
            sum(c.weight * ((c.to_class = 'active')::int - (c.from_class = 'active')::int)) as active_count,
            sum(c.weight * ((c.to_class = 'wait')::int - (c.from_class = 'wait')::int)) as wait_count,
            sum(c.weight * ((c.to_class = 'red')::int - (c.from_class = 'red')::int)) as red_count,
            sum(c.weight * ((c.to_state = 'completed')::int - (c.from_state = 'completed')::int)) as completed_count,
            sum((c.to_state = 'skipped')::int) as skipped_count,
            sum(c.weight * ((c.to_state = 'cannot_complete')::int
                - (c.from_state = 'cannot_complete' and not c.failure_caught)::int)) as failed_count
        from changed as c
        where c.scope = 'step' and (c.from_class <> c.to_class or c.open_count <> 0)
        group by c.tenant_id, stepwell._run_of(c.unit_id)
        order by c.tenant_id, stepwell._run_of(c.unit_id)
    ), counted as (
        update stepwell.run_progress as p set
            open_count = p.open_count + d.open_count,
            idle_count = p.idle_count + d.idle_count,
            active_count = p.active_count + d.active_count,
            wait_count = p.wait_count + d.wait_count,
            red_count = p.red_count + d.red_count,
            completed_count = p.completed_count + d.completed_count,
            skipped_count = p.skipped_count + d.skipped_count,
            failed_count = p.failed_count + d.failed_count,
            last_rollup_at = v_now,
            rollup_state_code = case
                when p.frozen_at is not null then p.rollup_state_code
                when (p.red_count > 0) = (p.red_count + d.red_count > 0)
                    and (p.wait_count > 0) = (p.wait_count + d.wait_count > 0)
                    and (p.active_count > 0) = (p.active_count + d.active_count > 0) then p.rollup_state_code
                else stepwell._rollup_colour(p.red_count + d.red_count, p.wait_count + d.wait_count,
                    p.active_count + d.active_count)
            end
        from delta as d
        where p.tenant_id = d.tenant_id and p.run_id = d.run_id
        returning p.tenant_id, p.run_id, p.open_count = 0 or p.map_count > 0 or p.needs_attention as is_due
    )
    select d.applied_count, d.applied_ids, d.direct_ids, d.changes, r.tenant_ids, r.unit_ids
    into applied_count, applied_ids, direct_ids, v_changes, due_tenant_ids, due_ids
    from (
        select
            count(*)::int as applied_count, array_agg(c.unit_id) as applied_ids,
            array_agg(c.unit_id) filter (where c.claim_event_type is not null) as direct_ids,
            array_agg(row(c.tenant_id, c.unit_id, c.has_slot, c.queue_executor_class_id, -c.priority, c.map_id, c.open_count,
                c.is_marked, c.operation_id)::stepwell.unit_change)
                filter (where c.has_slot or c.is_marked or c.queue_executor_class_id is not null or c.map_id is not null) as changes
        from changed as c
    ) as d
    cross join (
        select array_agg(p.tenant_id) as tenant_ids, array_agg(stepwell._run_unit(p.run_id)) as unit_ids from counted as p where p.is_due
    ) as r;
    if v_changes is null then
        return;
    end if;
    -- What only few calls need is in functions of its own, so that the other calls do not pay for it.
    select array_agg(c.tenant_id), array_agg(c.unit_id) into slot_tenant_ids, slot_ids
    from unnest(v_changes) as c where c.has_slot;
    perform stepwell._marks_clear(v_changes);
    perform stepwell._maps_count(v_changes);
    perform stepwell._ready_put(v_changes);
end
$$;

-- The texts of a JSON array; none when it is no array. It is a function because a subquery in the statement that needs
-- it would be prepared for every call, and few calls need it.
create or replace function stepwell._texts_of(p_array jsonb) returns text[]
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
begin
    return array(select jsonb_array_elements_text(p_array));
end
$$;

-- When a unit that is opened again had completed first; null when it never has: a death or a cancellation is no completion.
create or replace function stepwell._completion_kept(p_unit stepwell.work_unit) returns timestamptz
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return (select min(a.closed_at) from stepwell.step_run_prior_audit as a
    where a.tenant_id = p_unit.tenant_id and a.unit_id = p_unit.unit_id and a.closing_state = 'completed');
end
$$;

-- Removes the marks that belonged to the state a unit has left: its block counts as red, its failure is
-- caught. The core counts by these marks, so they are removed after it has counted. The timer of a deadline follows the
-- new state.
create or replace function stepwell._marks_clear(p_changes stepwell.unit_change[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    update stepwell.work_unit as u set blocked_escalated = false, failure_caught = false
    from unnest(p_changes) as c
    where c.is_marked and u.tenant_id = c.tenant_id and u.unit_id = c.unit_id
        and (u.blocked_escalated or u.failure_caught);
    perform stepwell._deadline_timers(array_agg(c.tenant_id), array_agg(c.unit_id))
    from unnest(p_changes) as c where c.is_marked;
end
$$;

-- Maps that have begun count the steps of their items that have not ended: one less for each that ended, one more for each
-- that was opened again.
create or replace function stepwell._maps_count(p_changes stepwell.unit_change[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    update stepwell.work_unit as m set pending_count = m.pending_count + d.open_count
    from (
        select q.tenant_id, q.map_id, sum(q.open_count)::int as open_count
        from unnest(p_changes) as q
        where q.map_id is not null
        group by q.tenant_id, q.map_id
    ) as d
    where m.tenant_id = d.tenant_id and m.unit_id = d.map_id
        and m.state_code not in ('not_started', 'ready', 'cancelled');
end
$$;

-- Puts what became ready into the queue, unless its run is paused.
create or replace function stepwell._ready_put(p_changes stepwell.unit_change[])
returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    insert into stepwell.job_ready (tenant_id, workspace_id, executor_class_id, rank, operation_id, unit_id, is_retry)
    select q.tenant_id, case when p.run_id is null then stepwell._workspace_of(q.tenant_id, q.unit_id) else coalesce(p.workspace_id, 0) end,
        q.executor_class_id, q.rank, q.operation_id, q.unit_id, false
    from unnest(p_changes) as q
    left join stepwell.run_progress as p on q.tenant_id = p.tenant_id and stepwell._run_of(q.unit_id) = p.run_id
    where q.executor_class_id is not null and p.frozen_at is null
    on conflict do nothing;
end
$$;
