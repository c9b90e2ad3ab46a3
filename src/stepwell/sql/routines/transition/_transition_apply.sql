-- Purpose: the transition core. Takes n requests, judges each against the registry, applies those that hold,
--   appends one event per change, queues what became ready, keeps the run's counters, returns what was done. Every state change
--   of every unit passes here; single calls and batches alike. A request that does not hold, or whose unit another transaction
--   changed in between, is not among those applied: callers count, and _transition_judge says why. Requests from number
--   p_engine_from on are the engine's own, made in the same breath: completed steps and the successors they release travel in
--   one call, and so do a new run and its first steps. The first p_hand_on_count of those go two edges at once where the
--   registry has the ordinary rule of the claim: released by the engine, claimed by the session p_hand_on_session_id; both
--   edges are judged and both leave their event. Of the runs whose counters moved, those that may have to be settled come
--   back as due.
-- Locks: the unit rows it changes, in the order given (callers hand ids in ascending order and already hold
--   the run); then run_progress of the runs whose counters move.
-- Idempotency: none here; fn_state_transition_validate keeps keys, workers are fenced by their lease.
-- Raises: nothing; what is refused is left out.
-- Settings: those of the caller, who fixes the search path and how plans are made: to set them again costs a lone call
--   a twentieth of its time.
create or replace function stepwell._transition_apply(
    p_tenant_ids int[],
    p_unit_ids bigint[],
    p_to_states text[],
    p_actor_class text,
    p_trigger_kind text,
    p_trigger_ref text,
    p_actor text default null,
    p_from_states text[] default null,
    p_evidence jsonb[] default null,
    p_payloads jsonb[] default null,
    p_released_counts int[] default null,
    p_session_id bigint default null,
    p_lease_nos int[] default null,
    p_engine_from int default null,
    p_now timestamptz default null,
    p_hand_on_count int default 0,
    p_hand_on_session_id bigint default null,
    out applied_count int, out applied_ids bigint[], out slot_tenant_ids int[], out slot_ids bigint[], out handed_ids bigint[],
    out due_tenant_ids int[], out due_ids bigint[]
)
language plpgsql volatile
as $$
declare
    v_now constant timestamptz := coalesce(p_now, stepwell.now());
    v_session constant text := 'session:' || p_session_id;
    v_actor constant text := coalesce(p_actor, v_session);
    v_next_session constant text := 'session:' || p_hand_on_session_id;
    v_changes stepwell.unit_change[];
begin
    with changed as (
        update stepwell.work_unit as n set
            state_code = g.to_state,
            last_transition_at = v_now,
            lease_session_id = case g.to_state
                when 'in_progress' then case when g.handed_on then p_hand_on_session_id else p_session_id end
                when 'overdue' then n.lease_session_id end,
            lease_no = case when g.to_state = 'in_progress' then n.lease_no + 1 else n.lease_no end,
            pending_count = case when u.state_code = 'not_started' then 0 else n.pending_count end,
            attempt_count = case
                when g.to_state = 'failed' or (g.to_state = 'ready' and p_trigger_ref = 'lease_expired')
                    then n.attempt_count + 1
                else n.attempt_count end,
            started_at = case when g.to_state = 'in_progress' then coalesce(n.started_at, v_now) else n.started_at end,
            failure_caught = n.failure_caught and g.to_settled,
            completed_at = case when g.to_settled then coalesce(n.completed_at, v_now) else n.completed_at end,
            blocked_escalated = false,
            lent_class = null,
            waiting_facet = case when g.to_state = 'waiting' then q.payload ->> 'waiting_facet' end,
            waiting_facets = case when g.to_state = 'waiting' then stepwell._texts_of(q.payload -> 'waiting_facets') end,
            failure_class = case when g.to_state = 'failed' then q.payload ->> 'failure_class' else n.failure_class end,
            overdue_first_at = case when g.to_state = 'overdue' or (g.to_settled and n.deadline_at < v_now)
                then coalesce(n.overdue_first_at, n.deadline_at) else n.overdue_first_at end,
            completed_after_deadline = n.completed_after_deadline
                or (g.to_state = 'completed' and coalesce(n.deadline_at < v_now or n.overdue_first_at is not null, false)),
            sla_breach_duration = case when g.to_state = 'completed' and n.deadline_at < v_now
                then v_now - n.deadline_at else n.sla_breach_duration end
        from unnest(p_tenant_ids, p_unit_ids, p_to_states, p_from_states, p_evidence, p_payloads, p_released_counts,
            p_lease_nos) with ordinality
            as q (tenant_id, unit_id, to_state, from_state, evidence, payload, released_count, lease_no, ord)
        cross join lateral (select
            coalesce(q.ord >= p_engine_from, false) as by_engine,
            coalesce(q.ord >= p_engine_from and q.ord < p_engine_from + p_hand_on_count, false) as may_go_on,
            case when q.ord >= p_engine_from then 'mow_orchestrator' else p_actor_class end as actor_class) as w
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        inner join stepwell.transition_rule as t
            on u.state_machine_id = t.state_machine_id and u.state_code = t.from_state
            and q.to_state = t.to_state and t.actor_class = w.actor_class
        left join stepwell.transition_rule as h
            on u.state_machine_id = h.state_machine_id and h.from_state = case when w.may_go_on then q.to_state end
            and h.to_state = 'in_progress' and h.actor_class = 'executor_worker'
            and h.guard_ref = 'executor_lease_granted' and p_hand_on_session_id is not null and u.operation_id is not null
            and h.trigger_ref = 'step_claim' and h.event_is_registered and not h.proposed and not h.event_requires_payload
        cross join lateral (select
            h.to_state is not null as handed_on, coalesce(h.to_state, q.to_state) as to_state,
            coalesce(h.to_settled, t.to_settled) as to_settled, coalesce(h.to_class, t.to_class) as to_class) as g
        where n.ctid = u.ctid and n.state_code = u.state_code and n.lease_no = u.lease_no
            and stepwell._transition_problems(u, t, q.from_state, q.to_state, q.evidence, q.payload, q.released_count,
                q.lease_no, w.actor_class, w.by_engine, p_trigger_kind, p_trigger_ref, p_session_id, p_actor, v_now, false) = '{}'
        returning
            q.ord, q.payload, q.evidence, q.to_state as first_state, w.actor_class, w.by_engine, g.handed_on, g.to_state,
            g.to_class, g.to_settled, t.from_state, t.event_type, t.from_settled, h.event_type as hand_on_event_type,
            -- A block that counts as red leaves the red ones, a sub-workflow those of the colour its run lent it.
            case when u.blocked_escalated then 'red' else coalesce(u.lent_class, t.from_class) end as from_class,
            n.scope = 'step' and n.parent_id is not null and t.from_settled <> g.to_settled as is_of_map,
            g.to_state = 'ready' and n.slot_key is null and n.class_id is not null as is_queued,
            u.failure_caught, n.slot_key, n.class_id, n.priority, n.parent_id, n.tenant_id, n.unit_id, n.lease_no,
            n.completed_after_deadline, n.overdue_first_at, n.sla_breach_duration, n.mandatory::int as weight, n.scope
    ), appended as (
        insert into stepwell.event_log (
            tenant_id, at, stream_id, unit_id, request_id, event_type, from_state, to_state,
            actor_class, actor, audit_ref, trace_id, correlation_id, payload)
        select
            c.tenant_id, v_now, c.unit_id >> 20, c.unit_id, e.request_id, e.event_type, e.from_state, e.to_state,
            e.actor_class, e.actor, e.audit_ref, c.evidence ->> 'trace_id', c.evidence ->> 'correlation_id',
            case when c.to_state = 'completed' and c.completed_after_deadline
                then coalesce(c.payload, '{}') || jsonb_build_object('completed_after_deadline', true,
                    'overdue_first_at', c.overdue_first_at, 'sla_breach_duration', c.sla_breach_duration)
                else c.payload end
        from changed as c
        cross join lateral (
            select 1 as leg, c.lease_no - c.handed_on::int as request_id, c.event_type, c.from_state, c.first_state as to_state,
                c.actor_class, case when c.by_engine then 'engine' else v_actor end as actor,
                case when not c.by_engine then coalesce(c.evidence ->> 'audit_ref', v_session) end as audit_ref
            union all
            select 2, c.lease_no, c.hand_on_event_type, c.first_state, c.to_state, 'executor_worker', v_next_session, v_next_session
            where c.handed_on
        ) as e
        order by c.ord, e.leg
    ), delta as (
        select
            c.tenant_id, c.unit_id >> 20 as run_id,
            sum(c.from_settled::int - c.to_settled::int) as open_count,
            sum(c.weight * ((c.to_class = 'idle')::int - (c.from_class = 'idle')::int)) as idle_count,
            sum(c.weight * ((c.to_class = 'active')::int - (c.from_class = 'active')::int)) as active_count,
            sum(c.weight * ((c.to_class = 'wait')::int - (c.from_class = 'wait')::int)) as wait_count,
            sum(c.weight * ((c.to_class = 'red')::int - (c.from_class = 'red')::int)) as red_count,
            sum(c.weight * ((c.to_state = 'completed')::int - (c.from_state = 'completed')::int)) as completed_count,
            sum((c.to_state = 'skipped')::int) as skipped_count,
            sum(c.weight * ((c.to_state = 'cannot_complete')::int
                - (c.from_state = 'cannot_complete' and not c.failure_caught)::int)) as failed_count
        from changed as c
        where c.scope = 'step' and (c.from_class <> c.to_class or c.to_settled <> c.from_settled)
        group by c.tenant_id, c.unit_id >> 20
        order by c.tenant_id, c.unit_id >> 20
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
    select d.applied_count, d.applied_ids, d.handed_ids, d.changes, r.tenant_ids, r.unit_ids
    into applied_count, applied_ids, handed_ids, v_changes, due_tenant_ids, due_ids
    from (
        select
            count(*)::int as applied_count, array_agg(c.unit_id) as applied_ids,
            array_agg(c.unit_id) filter (where c.handed_on) as handed_ids,
            array_agg(row(c.tenant_id, c.unit_id, c.slot_key is not null, case when c.is_queued then c.class_id end, -c.priority,
                -- Steps of a map's items: the map waits for as many as are not settled.
                case when c.is_of_map then c.parent_id end, c.from_settled::int - c.to_settled::int)::stepwell.unit_change)
                filter (where c.slot_key is not null or c.is_queued or c.is_of_map) as changes
        from changed as c
    ) as d
    cross join (
        select array_agg(p.tenant_id) as tenant_ids, array_agg(p.run_id << 20) as unit_ids from counted as p where p.is_due
    ) as r;
    if v_changes is null then
        return;
    end if;
    -- What few calls need costs the others nothing in functions and statements of its own.
    select array_agg(c.tenant_id), array_agg(c.unit_id) into slot_tenant_ids, slot_ids
    from unnest(v_changes) as c where c.has_slot;
    perform stepwell._maps_count(v_changes);
    perform stepwell._ready_put(v_changes);
end
$$;
