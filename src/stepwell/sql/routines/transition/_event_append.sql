-- Purpose: appends one event that is no state change (published, signal received, schedule fired, a handler's own).
-- Locks: none.
-- Idempotency: none; callers append once.
-- Raises: SW004 when the type is not registered or the payload breaks its contract.
create or replace function stepwell._event_append(
    p_tenant_id int, p_unit_id bigint, p_event_type text, p_actor text, p_payload jsonb,
    p_actor_class text default 'system'
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_problem text;
begin
    if not exists (select from stepwell.event_type_registry as e
        where e.event_type = p_event_type and e.is_registered) then
        raise exception using errcode = 'SW004', message = format('event type %s is not registered', p_event_type);
    end if;
    v_problem := stepwell._event_payload_problem(p_event_type, p_payload);
    if v_problem is not null then
        raise exception using errcode = 'SW004', message = v_problem;
    end if;
    insert into stepwell.event_log (tenant_id, at, stream_id, unit_id, event_type, actor_class, actor, payload)
    values (p_tenant_id, stepwell.now(), p_unit_id >> 20, p_unit_id, p_event_type, p_actor_class, p_actor, p_payload);
end
$$;
