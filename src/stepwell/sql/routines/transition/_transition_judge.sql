-- Purpose: what the core would say to these requests, for those that were not applied (p_applied_ids) or are only tried:
--   rule, event type and problems of each, in the order given.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._transition_judge(
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
    p_engine_from int default null,
    p_applied_ids bigint[] default null
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
        stepwell._transition_problems(u, t, q.from_state, q.to_state, q.evidence, q.payload, q.released_count, null,
            w.actor_class, w.by_engine, p_trigger_kind, p_trigger_ref, p_session_id, p_actor, v_now, true)
    from unnest(p_tenant_ids, p_unit_ids, p_to_states, p_from_states, p_evidence, p_payloads, p_released_counts)
        with ordinality as q (tenant_id, unit_id, to_state, from_state, evidence, payload, released_count, ord)
    cross join lateral (select
        coalesce(q.ord >= p_engine_from, false) as by_engine,
        case when q.ord >= p_engine_from then 'mow_orchestrator' else p_actor_class end as actor_class) as w
    left join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    left join stepwell.transition_rule as t
        on u.state_machine_id = t.state_machine_id and u.state_code = t.from_state
        and q.to_state = t.to_state and t.actor_class = w.actor_class and not t.hands_on
    where not q.unit_id = any (coalesce(p_applied_ids, '{}'))
    order by q.ord;
end
$$;
