-- Purpose: what is wrong with an event's payload under the contract of its type, in one line; null when it holds.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._event_payload_problem(p_event_type text, p_payload jsonb) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select 'event_payload_invalid:' || p_event_type || ': ' || string_agg(b.problem, '; ' order by b.problem)
    from (
        select case
            when jsonb_typeof(p_payload) is distinct from 'object' and p_payload is not null then 'payload must be an object'
            when p_payload -> f.field_name is null and f.is_required
                then format('field %s is required (%s)', f.field_name, f.json_type)
            when jsonb_typeof(p_payload -> f.field_name) not in (f.json_type, case when f.is_required then '' else 'null' end)
                then format('field %s must be a %s', f.field_name, f.json_type)
            when f.allowed_values is not null and not (p_payload ->> f.field_name = any (f.allowed_values))
                then format('field %s must be one of %s', f.field_name, array_to_string(f.allowed_values, ', '))
        end as problem
        from stepwell.event_field_def as f
        where f.event_type = p_event_type
    ) as b
    where b.problem is not null
$$;
