-- Purpose: the payload contract of one event type as a JSON Schema, for clients and documentation.
-- Further fields are welcome, as they are when an event is appended.
-- Locks: none.
-- Idempotency: read only.
-- Raises: SW002 when the event type does not exist.
create or replace function stepwell.fn_event_type_schema(p_event_type text)
returns jsonb
language plpgsql
stable
set search_path = stepwell, pg_temp
as $$
declare
    v_description text;
    v_properties jsonb;
    v_required jsonb;
begin
    select r.description into v_description from event_type_registry as r where r.event_type = p_event_type;
    if not found then
        raise exception 'event type % does not exist', p_event_type
            using errcode = 'SW002', hint = 'event_type_registry lists the event types';
    end if;

    select
        jsonb_object_agg(
            f.field_name,
            jsonb_build_object('type', f.json_type, 'description', f.description)
            || case when f.allowed_values is null then '{}' else jsonb_build_object('enum', f.allowed_values) end
        ),
        jsonb_agg(f.field_name order by f.field_name) filter (where f.is_required)
    into v_properties, v_required
    from event_field_def as f
    where f.event_type = p_event_type;

    return jsonb_build_object(
        '$schema', 'https://json-schema.org/draft/2020-12/schema',
        '$id', 'urn:stepwell:event:' || p_event_type,
        'title', p_event_type,
        'description', v_description,
        'type', 'object',
        'properties', coalesce(v_properties, '{}'),
        'required', coalesce(v_required, '[]'),
        'additionalProperties', true
    );
end;
$$;
