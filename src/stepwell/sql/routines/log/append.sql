-- Writing events that are no state change. The events of state changes are written by the transition core itself.

-- Appends one event that is no state change (published, signal received, schedule fired, an event of a handler).
-- Returns its number.
-- Raises: SW004 when the type is not registered or the payload breaks its contract.
create or replace function stepwell._event_append(
    p_tenant_id int, p_unit_id bigint, p_event_type text, p_actor text, p_payload jsonb,
    p_actor_class text default 'system'
) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    return stepwell._event_append_at(p_tenant_id, p_unit_id, p_event_type, p_actor, p_payload, p_actor_class, stepwell.now());
end
$$;

-- The same with the time of the row that the event stands for, so that the log and the table say the same.
-- Raises: as _event_append.
create or replace function stepwell._event_append_at(
    p_tenant_id int, p_unit_id bigint, p_event_type text, p_actor text, p_payload jsonb, p_actor_class text, p_at timestamptz
) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_problem text;
    v_event_id bigint;
begin
    if not exists (select from stepwell.event_type_registry as e
        where e.event_type = p_event_type and e.is_registered) then
        raise exception using errcode = 'SW004', message = format('event type %s is not registered', p_event_type);
    end if;
    v_problem := stepwell._event_payload_problem(p_event_type, p_payload);
    if v_problem is not null then
        raise exception using errcode = 'SW004', detail = jsonb_build_object('codes', array[v_problem]),
            message = 'event ' || substr(v_problem, length('event_payload_invalid:') + 1);
    end if;
    -- A follower counts on it that a transaction has its id before it draws the number of an event (fn_run_follow).
    perform pg_current_xact_id();
    insert into stepwell.event_log (tenant_id, at, run_id, unit_id, event_type, actor_class, actor, payload)
    values (p_tenant_id, p_at, stepwell._run_of(p_unit_id), p_unit_id, p_event_type, p_actor_class, p_actor, p_payload)
    returning event_id into v_event_id;
    return v_event_id;
end
$$;

-- What is wrong with the payload of an event under the contract of its type, in one line; null when nothing is.
create or replace function stepwell._event_payload_problem(p_event_type text, p_payload jsonb) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select 'event_payload_invalid:' || p_event_type || ': ' || string_agg(b.problem, '; ' order by b.problem)
    from (
        select case
            when jsonb_typeof(p_payload) is distinct from 'object' and p_payload is not null then 'payload: must be an object'
            when p_payload -> f.field_name is null and f.is_required
                then format('%s: is required (%s)', f.field_name, f.json_type)
            when jsonb_typeof(p_payload -> f.field_name) not in (f.json_type, case when f.is_required then '' else 'null' end)
                then format('%s: must be a %s', f.field_name, f.json_type)
            when f.allowed_values is not null and not (p_payload ->> f.field_name = any (f.allowed_values))
                then format('%s: must be one of %s', f.field_name, array_to_string(f.allowed_values, ', '))
        end as problem
        from stepwell.event_field_def as f
        where f.event_type = p_event_type
    ) as b
    where b.problem is not null
$$;
