-- Checks a requested state change. The core asks for every request; other callers ask why one was refused.

-- The problems of one requested change of one unit, with chr(31) between them; an empty text means that it holds. This is the
-- only place where a request is checked. It is a text because the core only asks whether it is empty, for every request, and
-- an array costs several times as much. The function has no settings of its own, so that PostgreSQL makes it part of the
-- statement that calls it.
create or replace function stepwell._transition_problems(
    p_unit stepwell.work_unit, p_rule stepwell.transition_rule, p_from_state text, p_to_state text, p_evidence jsonb,
    p_payload jsonb, p_released_count int, p_lease_no int, p_actor_class text, p_by_engine boolean, p_trigger_kind text,
    p_trigger_ref text, p_session_id bigint, p_now timestamptz, p_preview boolean
) returns text
language sql volatile
as $$
    select concat_ws(chr(31),
        case when p_unit.unit_id is null then 'unit_not_found' end,
        case when p_from_state <> p_unit.state_code then 'state_is_' || p_unit.state_code end,
        case when p_lease_no is not null
            and (p_lease_no <> p_unit.lease_no or p_unit.lease_session_id is distinct from p_session_id)
            then 'lease_lost' end,
        case when p_unit.unit_id is not null and p_rule.transition_id is null
            then format('no_transition:%s->%s by %s', p_unit.state_code, p_to_state, p_actor_class) end,
        case when p_rule.proposed then 'transition_is_only_proposed:' || p_rule.transition_id end,
        case when not p_by_engine and (p_rule.trigger_kind <> p_trigger_kind or p_rule.trigger_ref <> p_trigger_ref)
            then format('trigger_must_be:%s %s', p_rule.trigger_kind, p_rule.trigger_ref) end,
        case when not p_rule.event_is_registered then 'event_type_not_registered:' || p_rule.event_type end,
        case when p_rule.audit_required and p_session_id is null and p_evidence ->> 'audit_ref' is null
            then 'audit_ref_required' end,
        case p_rule.guard_kind when 'predicate_fn' then
            case when case p_rule.guard_ref
                when 'preconditions_met' then p_unit.pending_count <= coalesce(p_released_count, 0)
                when 'executor_lease_granted' then p_session_id is not null and p_unit.operation_id is not null
                when 'retry_budget_left' then p_session_id is not null and p_unit.attempt_count < p_unit.max_attempts
                when 'failure_classified' then p_payload ->> 'classification' in ('transient', 'permanent')
                when 'all_steps_finished' then stepwell._guard_run_ends(p_unit.tenant_id, p_unit.unit_id, false)
                when 'run_cannot_finish' then stepwell._guard_run_ends(p_unit.tenant_id, p_unit.unit_id, true)
                else (p_rule.guard_ref = 'output_contract_met' and not p_unit.has_contract)
                    or stepwell._guard_named(p_rule.guard_ref, p_unit, p_evidence, p_now)
            end then null else 'transition_refused_by_guard:' || p_rule.guard_ref end
        when 'config' then
            case when stepwell._guard_expression(p_rule.guard_ref, p_unit, p_evidence)
                then null else 'transition_refused_by_guard:' || p_rule.guard_ref end
        end,
        case when p_rule.event_has_contract and (p_payload is not null or p_rule.event_requires_payload)
            then stepwell._payload_judge(p_unit.tenant_id, p_unit.unit_id, p_rule.event_type, p_payload, p_now, p_preview) end)
$$;

-- Whether a run can end: nothing in it is open, and none of its mandatory steps could not complete or was cancelled, or else
-- some. Every run asks for it at its end, so it takes no row and catches no error.
create or replace function stepwell._guard_run_ends(p_tenant_id int, p_unit_id bigint, p_has_failed boolean) returns boolean
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return exists (select from stepwell.run_progress as r
        where r.tenant_id = p_tenant_id and r.run_id = stepwell._run_of(p_unit_id)
            and r.open_count = 0 and p_has_failed = (r.failed_count > 0
                or (r.red_count > 0 and stepwell._run_lost_a_step(r.tenant_id, r.run_id))));
end
$$;

-- Whether a mandatory step of a run was cancelled, and no conditional caught that: such a run cannot complete. Callers
-- ask only for runs with a red step.
create or replace function stepwell._run_lost_a_step(p_tenant_id int, p_run_id bigint) returns boolean
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return exists (
        select from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id
            and u.unit_id between stepwell._run_unit(p_run_id) + 1 and stepwell._run_unit(p_run_id + 1) - 1
            and u.scope = 'step' and u.mandatory and u.state_code = 'cancelled' and not u.failure_caught);
end
$$;

-- What is wrong with the payload of the event of a transition. A refused payload is kept in event_validation_audit,
-- unless the transition is only a preview.
create or replace function stepwell._payload_judge(
    p_tenant_id int, p_unit_id bigint, p_event_type text, p_payload jsonb, p_now timestamptz, p_preview boolean
) returns text
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_problem constant text := stepwell._event_payload_problem(p_event_type, p_payload);
begin
    if v_problem is not null and not p_preview then
        insert into stepwell.event_validation_audit (tenant_id, event_type, unit_id, payload, problems, rejected_at)
        values (p_tenant_id, p_event_type, p_unit_id, p_payload, array[v_problem], p_now);
    end if;
    return v_problem;
end
$$;

-- What the core says to these requests: rule, event type and problems of each, in the order given. For requests that
-- were not applied (not in p_applied_ids), and for previews.
create or replace function stepwell._transition_judge(
    p_requests stepwell.transition_request[], p_cause stepwell.transition_cause, p_applied_ids bigint[] default null
) returns table (unit_id bigint, transition_id text, event_type text, problems text[])
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := stepwell.now();
begin
    return query
    select q.unit_id, t.transition_id, t.event_type,
        string_to_array(stepwell._transition_problems(u, t, q.from_state, q.to_state, q.evidence, q.payload, q.released_count, null,
            w.actor_class, w.by_engine, p_cause.trigger_kind, p_cause.trigger_ref, p_cause.session_id, v_now, true), chr(31))
    from unnest(p_requests) with ordinality
        as q (tenant_id, unit_id, to_state, from_state, evidence, payload, released_count, lease_no, ord)
    cross join lateral (select
        coalesce(q.ord >= p_cause.engine_from, false) as by_engine,
        case when q.ord >= p_cause.engine_from then 'mow_orchestrator' else p_cause.actor_class end as actor_class) as w
    left join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    left join stepwell.transition_rule as t
        on u.state_machine_id = t.state_machine_id and u.state_code = t.from_state
        and q.to_state = t.to_state and t.actor_class = w.actor_class and not t.leases_directly
    where not q.unit_id = any (coalesce(p_applied_ids, '{}'))
    order by q.ord;
end
$$;
