-- Purpose: the whole registry as one JSON document, for the UI, the terminal and the reference page:
--   machines, colours, texts, guards, events, dialects, roll-up rules, failure classes.
-- Locks: none.
-- Idempotency: read only; equal registries give equal documents.
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
