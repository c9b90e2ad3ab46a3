-- How the engine asks the core for state changes that must succeed.

-- Applies one kind of state change to many units where the engine is the actor: a refusal is a fault of the registry or
-- of the engine, and must end the transaction. Steps in p_engine_unit_ids, all of the first tenant and without
-- predecessors, become ready in the same statement. The first p_hand_on_count of them get a direct lease; their ids are
-- returned.
-- Locks: as _transition_apply.
-- Raises: SW004 naming the refusals; 40001 when another transaction changed a unit meanwhile (try again).
create or replace function stepwell._must_apply(
    p_tenant_ids int[], p_unit_ids bigint[], p_to_state text, p_actor_class text, p_trigger_kind text,
    p_trigger_ref text, p_actor text default null, p_evidence jsonb[] default null, p_payloads jsonb[] default null,
    p_released_counts int[] default null, p_session_id bigint default null, p_now timestamptz default null,
    p_engine_unit_ids bigint[] default null, p_hand_on_count int default 0, p_hand_on_session_id bigint default null
) returns bigint[]
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
declare
    v_count constant int := coalesce(cardinality(p_unit_ids), 0);
    v_engine_count constant int := coalesce(cardinality(p_engine_unit_ids), 0);
    v_engine_from constant int := case when v_engine_count > 0 then v_count + 1 end;
    v_tenant_ids constant int[] := p_tenant_ids || array_fill(p_tenant_ids[1], array[v_engine_count]);
    v_unit_ids constant bigint[] := p_unit_ids || p_engine_unit_ids;
    v_to_states constant text[] := array_fill(p_to_state, array[v_count]) || array_fill('ready'::text, array[v_engine_count]);
    v_done record;
    v_refusal record;
begin
    if v_count = 0 then
        return null;
    end if;
    v_done := stepwell._transition_apply(v_tenant_ids, v_unit_ids, v_to_states, p_actor_class, p_trigger_kind, p_trigger_ref,
        p_actor, null, p_evidence, p_payloads, p_released_counts, p_session_id, p_engine_from => v_engine_from, p_now => p_now,
        p_hand_on_count => p_hand_on_count, p_hand_on_session_id => p_hand_on_session_id);
    if v_done.applied_count = v_count + v_engine_count then
        return v_done.handed_ids;
    end if;
    select min(j.unit_id) as unit_id, string_agg(array_to_string(j.problems, ', '), '; ') as problems into v_refusal
    from stepwell._transition_judge(v_tenant_ids, v_unit_ids, v_to_states, p_actor_class, p_trigger_kind, p_trigger_ref,
        p_actor, null, p_evidence, p_payloads, p_released_counts, p_session_id, v_engine_from, v_done.applied_ids) as j
    where j.problems <> '{}';
    raise exception using errcode = case when v_refusal.unit_id is null then '40001' else 'SW004' end,
        message = format('unit %s cannot become %s: %s', v_refusal.unit_id, p_to_state,
            coalesce(left(v_refusal.problems, 500), 'changed by another transaction'));
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
