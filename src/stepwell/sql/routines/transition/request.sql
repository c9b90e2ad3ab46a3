-- How the engine asks the core for state changes that must succeed: as requests, or as units that all make the same change.

-- Applies state changes where the engine is the actor: a refusal is a fault of the registry or of the engine, and must end
-- the transaction. Returns the steps that were leased directly.
-- Locks: as _transition_apply.
-- Raises: SW004 for the first unit that is refused; 40001 when another transaction changed a unit meanwhile (try again).
create or replace function stepwell._must_apply(p_requests stepwell.transition_request[], p_cause stepwell.transition_cause)
returns bigint[]
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_done record;
    v_refusal record;
begin
    if p_requests is null then
        return null;
    end if;
    v_done := stepwell._transition_apply(p_requests, p_cause);
    if v_done.applied_count = cardinality(p_requests) then
        return v_done.direct_ids;
    end if;
    select q.tenant_id, q.unit_id, q.to_state, q.evidence, q.payload, j.problems into v_refusal
    from stepwell._transition_judge(p_requests, p_cause, v_done.applied_ids) as j
    inner join unnest(p_requests) as q on j.unit_id = q.unit_id
    where j.problems <> '{}'
    order by q.unit_id limit 1;
    if found then
        perform stepwell._refuse(v_refusal.tenant_id, v_refusal.unit_id, v_refusal.to_state, v_refusal.problems,
            jsonb_build_object('actor', p_cause.actor, 'payload', v_refusal.payload) || coalesce(v_refusal.evidence, '{}'));
    end if;
    raise exception using errcode = '40001', message = format('%s was changed by another transaction; try again',
        stepwell._title_of(p_requests[1].tenant_id, p_requests[1].unit_id));
end
$$;

-- The same change for many units, as _must_apply.
-- Locks: as _transition_apply.
-- Raises: as _must_apply.
create or replace function stepwell._units_move(
    p_tenant_ids int[], p_unit_ids bigint[], p_to_state text, p_actor_class text, p_trigger_kind text,
    p_trigger_ref text, p_actor text default null, p_evidence jsonb[] default null, p_payloads jsonb[] default null,
    p_released_counts int[] default null, p_session_id bigint default null
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._must_apply(array_agg(
        row(q.tenant_id, q.unit_id, p_to_state, null, q.evidence, q.payload, q.released_count, null)
            ::stepwell.transition_request order by q.place),
        row(p_actor_class, p_trigger_kind, p_trigger_ref, p_actor, p_session_id, null, null, 0, null)::stepwell.transition_cause)
    from unnest(p_tenant_ids, p_unit_ids, p_evidence, p_payloads, p_released_counts) with ordinality
        as q (tenant_id, unit_id, evidence, payload, released_count, place)
    where q.unit_id is not null;
end
$$;

-- The active state machine of a scope; null when none is active.
create or replace function stepwell._machine_of(p_scope text) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return (select m.state_machine_id from stepwell.state_machine_def as m where m.scope = p_scope and m.active);
end
$$;
