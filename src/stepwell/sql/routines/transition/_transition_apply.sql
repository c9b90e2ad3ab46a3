-- Purpose: the transition core. Takes n requests, judges each against the registry, applies those that hold,
--   appends one event per change, queues what became ready, keeps the run's counters, returns the verdicts. Every state change of every
--   unit passes here; single calls and batches alike. A unit that another transaction changed between judging and
--   applying has no verdict row: callers count. Requests from number p_engine_from on are the engine's own, made in
--   the same breath: completed steps and the successors they release travel in one call. The first p_hand_on_count of
--   those go two edges at once where the registry has the ordinary rule of the claim: released by the engine, claimed by
--   the session that reports; both edges are judged and both leave their event. With p_engine_from the runs that may have to be settled come back too, as rows without a verdict.
-- Locks: the unit rows it changes, in the order given (callers hand ids in ascending order and already hold
--   the run); then run_progress of the runs whose counters move.
-- Idempotency: none here; fn_state_transition_validate keeps keys, workers are fenced by their lease.
-- Raises: nothing; a refusal is a verdict with its problems.
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
    p_preview boolean default false,
    p_engine_from int default null,
    p_now timestamptz default null,
    p_hand_on_count int default 0
) returns table (
    tenant_id int, unit_id bigint, ok boolean, transition_id text, event_type text, problems text[],
    version_id int, def_no int, slot_key text, handed_on boolean
)
language plpgsql volatile
set search_path = stepwell, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set random_page_cost = 0.01
set join_collapse_limit = 1
set jit = off
as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := coalesce(p_now, stepwell.now());
    v_session constant text := 'session:' || p_session_id;
    v_actor constant text := coalesce(p_actor, v_session);
begin
    return query
    with judged as materialized (
        select
            q.ord, q.tenant_id, q.unit_id, q.payload, q.to_state as first_state,
            case when g.handed_on then h.to_state else q.to_state end as to_state,
            u.ctid as row_id, u.state_code, u.lease_no, u.failure_caught, w.actor_class, w.by_engine, g.handed_on,
            t.transition_id, t.event_type, h.event_type as hand_on_event_type,
            t.from_settled, case when g.handed_on then h.to_settled else t.to_settled end as to_settled,
            case when g.handed_on then h.to_class else t.to_class end as to_class,
            -- A block that counts as red leaves the red ones, a sub-workflow those of the colour its run lent it.
            case when u.blocked_escalated then 'red' else coalesce(u.lent_class, t.from_class) end as from_class,
            coalesce(q.evidence ->> 'audit_ref', v_session) as audit_ref,
            q.evidence ->> 'trace_id' as trace_id,
            q.evidence ->> 'correlation_id' as correlation_id,
            array_remove(array[
                case when u.unit_id is null then 'unit_not_found' end,
                case when q.from_state <> u.state_code then 'state_is_' || u.state_code end,
                case when q.lease_no is not null and (q.lease_no <> u.lease_no or u.lease_session_id is distinct from p_session_id)
                    then 'lease_lost' end,
                case when u.unit_id is not null and t.transition_id is null
                    then format('no_transition:%s->%s by %s', u.state_code, q.to_state, w.actor_class) end,
                case when t.proposed then 'transition_is_only_proposed:' || t.transition_id end,
                case when not w.by_engine and (t.trigger_kind <> p_trigger_kind or t.trigger_ref <> p_trigger_ref)
                    then format('trigger_must_be:%s %s', t.trigger_kind, t.trigger_ref) end,
                case when not t.event_is_registered then 'event_type_not_registered:' || t.event_type end,
                case when t.audit_required and p_session_id is null and q.evidence ->> 'audit_ref' is null
                    then 'audit_ref_required' end,
                case t.guard_kind when 'predicate_fn' then
                    case when case t.guard_ref
                        when 'preconditions_met' then u.pending_count = coalesce(q.released_count, 0)
                        when 'executor_lease_granted' then p_session_id is not null and u.operation_id is not null
                        when 'retry_budget_left' then p_session_id is not null and u.attempt_count < u.max_attempts
                        when 'failure_classified' then q.payload ->> 'classification' in ('transient', 'permanent')
                        else (t.guard_ref = 'output_contract_met' and not u.has_contract)
                            or stepwell._guard_named(t.guard_ref, u, q.evidence, p_actor, v_now)
                    end then null else 'transition_refused_by_guard:' || t.guard_ref end
                when 'config' then
                    case when stepwell._guard_expression(t.guard_ref, u, q.evidence)
                        then null else 'transition_refused_by_guard:' || t.guard_ref end
                end,
                case when t.event_has_contract and (q.payload is not null or t.event_requires_payload)
                    then stepwell._payload_judge(q.tenant_id, q.unit_id, t.event_type, q.payload, v_now, p_preview) end
            ], null) as problems
        from unnest(p_tenant_ids, p_unit_ids, p_to_states, p_from_states, p_evidence, p_payloads, p_released_counts,
            p_lease_nos) with ordinality
            as q (tenant_id, unit_id, to_state, from_state, evidence, payload, released_count, lease_no, ord)
        cross join lateral (select
            coalesce(q.ord >= p_engine_from, false) as by_engine,
            coalesce(q.ord >= p_engine_from and q.ord < p_engine_from + p_hand_on_count, false) as may_go_on,
            case when q.ord >= p_engine_from then 'mow_orchestrator' else p_actor_class end as actor_class) as w
        left join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        left join stepwell.transition_rule as t
            on u.state_machine_id = t.state_machine_id and u.state_code = t.from_state
            and q.to_state = t.to_state and t.actor_class = w.actor_class
        left join stepwell.transition_rule as h
            on u.state_machine_id = h.state_machine_id and h.from_state = case when w.may_go_on then q.to_state end
            and h.to_state = 'in_progress' and h.actor_class = p_actor_class
        cross join lateral (select coalesce(h.guard_ref = 'executor_lease_granted' and p_session_id is not null
            and u.operation_id is not null and h.trigger_ref = 'step_claim' and h.event_is_registered
            and not h.proposed and not h.event_requires_payload, false) as handed_on) as g
    ), changed as (
        update stepwell.work_unit as u set
            state_code = j.to_state,
            last_transition_at = v_now,
            lease_session_id = case j.to_state
                when 'in_progress' then p_session_id when 'overdue' then u.lease_session_id end,
            lease_no = case when j.to_state = 'in_progress' then u.lease_no + 1 else u.lease_no end,
            pending_count = case when j.state_code = 'not_started' then 0 else u.pending_count end,
            attempt_count = case
                when j.to_state = 'failed' or (j.to_state = 'ready' and p_trigger_ref = 'lease_expired')
                    then u.attempt_count + 1
                else u.attempt_count end,
            started_at = case when j.to_state = 'in_progress' then coalesce(u.started_at, v_now) else u.started_at end,
            failure_caught = u.failure_caught and j.to_settled,
            completed_at = case when j.to_settled then coalesce(u.completed_at, v_now) else u.completed_at end,
            blocked_escalated = false,
            lent_class = null,
            waiting_facet = case when j.to_state = 'waiting' then j.payload ->> 'waiting_facet' end,
            waiting_facets = case when j.to_state = 'waiting' then
                array(select jsonb_array_elements_text(j.payload -> 'waiting_facets')) end,
            failure_class = case when j.to_state = 'failed' then j.payload ->> 'failure_class' else u.failure_class end,
            overdue_first_at = case when j.to_state = 'overdue' or (j.to_settled and u.deadline_at < v_now)
                then coalesce(u.overdue_first_at, u.deadline_at) else u.overdue_first_at end,
            completed_after_deadline = u.completed_after_deadline
                or (j.to_state = 'completed' and coalesce(u.deadline_at < v_now or u.overdue_first_at is not null, false)),
            sla_breach_duration = case when j.to_state = 'completed' and u.deadline_at < v_now
                then v_now - u.deadline_at else u.sla_breach_duration end
        from judged as j
        where j.problems = '{}' and not p_preview
            and u.ctid = j.row_id and u.state_code = j.state_code and u.lease_no = j.lease_no
        returning
            j.ord, j.failure_caught, j.actor_class, j.by_engine, j.handed_on, j.transition_id, j.first_state, j.to_state,
            j.state_code as from_state, j.event_type, j.hand_on_event_type, j.audit_ref, j.trace_id, j.correlation_id,
            j.payload, j.from_class, j.to_class, j.from_settled, j.to_settled,
            u.version_id, u.def_no, u.slot_key, u.class_id, u.priority, u.parent_id, u.tenant_id, u.unit_id, u.lease_no,
            u.completed_after_deadline, u.overdue_first_at, u.sla_breach_duration, u.mandatory, u.scope
    ), appended as (
        insert into stepwell.event_log (
            tenant_id, at, stream_id, unit_id, request_id, event_type, from_state, to_state,
            actor_class, actor, audit_ref, trace_id, correlation_id, payload)
        select
            c.tenant_id, v_now, c.unit_id >> 20, c.unit_id, e.request_id, e.event_type, e.from_state, e.to_state,
            e.actor_class, e.actor, e.audit_ref, c.trace_id, c.correlation_id,
            case when c.to_state = 'completed' and c.completed_after_deadline
                then coalesce(c.payload, '{}') || jsonb_build_object('completed_after_deadline', true,
                    'overdue_first_at', c.overdue_first_at, 'sla_breach_duration', c.sla_breach_duration)
                else c.payload end
        from changed as c
        cross join lateral (
            select 1 as leg, c.lease_no - c.handed_on::int as request_id, c.event_type, c.from_state, c.first_state as to_state,
                c.actor_class, case when c.by_engine then 'engine' else v_actor end as actor,
                case when not c.by_engine then c.audit_ref end as audit_ref
            union all
            select 2, c.lease_no, c.hand_on_event_type, c.first_state, c.to_state, p_actor_class, v_actor, c.audit_ref
            where c.handed_on
        ) as e
        order by c.ord, e.leg
    ), delta as (
        select
            c.tenant_id, c.unit_id >> 20 as run_id,
            sum(c.from_settled::int - c.to_settled::int) as open_count,
            sum((c.mandatory and c.to_class = 'idle')::int - (c.mandatory and c.from_class = 'idle')::int) as idle_count,
            sum((c.mandatory and c.to_class = 'active')::int - (c.mandatory and c.from_class = 'active')::int) as active_count,
            sum((c.mandatory and c.to_class = 'wait')::int - (c.mandatory and c.from_class = 'wait')::int) as wait_count,
            sum((c.mandatory and c.to_class = 'red')::int - (c.mandatory and c.from_class = 'red')::int) as red_count,
            sum((c.mandatory and c.to_state = 'completed')::int - (c.mandatory and c.from_state = 'completed')::int)
                as completed_count,
            sum((c.to_state = 'skipped')::int) as skipped_count,
            sum((c.mandatory and c.to_state = 'cannot_complete')::int
                - (c.mandatory and c.from_state = 'cannot_complete' and not c.failure_caught)::int) as failed_count,
            -- Steps of a map's items: the map waits for as many as are not settled.
            array_agg(c.parent_id) filter (where c.from_settled < c.to_settled and c.parent_id is not null) as settled_in,
            array_agg(c.parent_id) filter (where c.from_settled > c.to_settled and c.parent_id is not null) as opened_in
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
    select c.tenant_id, c.unit_id, true, c.transition_id, c.event_type, '{}'::text[], c.version_id, c.def_no, c.slot_key, c.handed_on
    from changed as c
    union all
    select j.tenant_id, j.unit_id, j.problems = '{}', j.transition_id, j.event_type, j.problems, null, null, null, false
    from judged as j
    where p_preview or j.problems <> '{}'
    union all
    select r.tenant_id, r.run_id << 20, null, null, null, null, null, null, null, null
    from counted as r
    where r.is_due and p_engine_from is not null
    union all
    -- No rows from here on, only what is done on the way: what few calls need costs the others nothing in a function.
    select d.tenant_id, null, null, null, null, null, null, null, null, null
    from delta as d
    where coalesce(d.settled_in, d.opened_in) is not null
        and stepwell._maps_count(d.tenant_id, d.settled_in, d.opened_in) is null
    union all
    select null, null, null, null, null, null, null, null, null, null
    from (
        select array_agg(c.tenant_id) as tenant_ids, array_agg(c.class_id) as class_ids, array_agg(-c.priority) as ranks,
            array_agg(c.unit_id) as unit_ids
        from changed as c
        where c.to_state = 'ready' and c.class_id is not null and c.slot_key is null
    ) as r
    where r.unit_ids is not null and stepwell._ready_put(r.tenant_ids, r.class_ids, r.ranks, r.unit_ids) is null;
end
$$;
