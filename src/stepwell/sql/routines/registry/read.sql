-- The declared state machines as one document, and the payload contract of an event type as JSON Schema.

-- The whole registry as one JSON document, for the UI, the terminal and the reference page: machines, colours, texts,
-- guards, events, dialects, roll-up rules, failure classes.
-- Locks: none.
-- Idempotency: reads only; equal registries give equal documents.
-- Raises: nothing.
create or replace function stepwell.fn_registry_read()
returns jsonb
language sql
stable
set search_path = stepwell, pg_temp
as $$
    select jsonb_build_object(
        'machines', _registry_machines(),
        'colours', (
            select jsonb_object_agg(c.config_key, c.config_value || jsonb_build_object('description', c.description))
            from dot_config as c
            where c.config_key like 'ui.traffic\_light.%'
        ),
        'texts', (
            select jsonb_object_agg(l.lang, l.texts)
            from (
                select t.lang, jsonb_object_agg(t.text_key, t.text_value) as texts from i18n_text as t group by t.lang
            ) as l
        ),
        'guards', (select jsonb_agg(to_jsonb(g) order by g.predicate_name collate "C") from guard_predicate as g),
        'events', (
            select jsonb_agg(
                to_jsonb(e) - 'registered_at' || jsonb_build_object('fields', (
                    select coalesce(
                        jsonb_agg(to_jsonb(f) - 'event_type' order by f.is_required desc, f.field_name collate "C"), '[]')
                    from event_field_def as f
                    where f.event_type = e.event_type
                ))
                order by e.event_type collate "C"
            )
            from event_type_registry as e
        ),
        'dialects', (
            select jsonb_agg(
                to_jsonb(d) order by d.scope collate "C", s.ordinal, d.qualifier collate "C",
                    array_position('{linear,runtime,node,job}', d.dialect)
            )
            from state_dialect as d
            inner join state_machine_def as m on d.scope = m.scope and m.active
            inner join state_def as s on m.state_machine_id = s.state_machine_id and d.state_code = s.state_code
        ),
        'rollup_policies', (
            select jsonb_agg(to_jsonb(p) order by p.policy_config_jsonb ->> 'rule', p.policy_code collate "C")
            from rollup_policy_def as p
        ),
        'failure_classes', (
            select jsonb_agg(to_jsonb(f) order by f.classification collate "C" desc, f.failure_class collate "C")
            from failure_class_registry as f
        )
    );
$$;

-- The machines with their states, transitions and facets as one JSON array, in reading order.
create or replace function stepwell._registry_machines()
returns jsonb
language sql
stable
set search_path = stepwell, pg_temp
as $$
    select jsonb_agg(
        to_jsonb(m) - 'created_at' || jsonb_build_object(
            'states', (
                select jsonb_agg(to_jsonb(s) - 'state_machine_id' order by s.ordinal)
                from state_def as s
                where s.state_machine_id = m.state_machine_id
            ),
            'transitions', (
                -- T2 before T10, and codes without a number last.
                select jsonb_agg(
                    to_jsonb(t) - 'state_machine_id'
                    order by substring(t.transition_code from '[0-9]+')::int nulls last,
                        t.transition_code collate "C", s.ordinal, t.to_state collate "C", t.actor_class collate "C"
                )
                from transition_def as t
                inner join state_def as s
                    on t.state_machine_id = s.state_machine_id and t.from_state = s.state_code
                where t.state_machine_id = m.state_machine_id
            ),
            'facets', (
                select coalesce(jsonb_agg(
                    to_jsonb(f) - 'state_machine_id' order by f.state_code collate "C" desc, f.primary_ordinal
                ), '[]')
                from state_facet_def as f
                where f.state_machine_id = m.state_machine_id
            )
        )
        order by array_position('{workflow_run,step,task,job,approval,proposal,receipt,cut_request}', m.scope), m.version
    )
    from state_machine_def as m;
$$;

-- The payload contract of one event type as a JSON Schema, for clients and documentation. Additional fields are
-- accepted.
-- Locks: none.
-- Idempotency: reads only.
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
