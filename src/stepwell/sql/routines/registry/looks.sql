-- How the states of the active machines are shown, and nothing else of the registry: what a terminal needs to draw a list.

-- In one language: states by scope and code with label, icon and colours; facets by scope and code as icon and text; the
-- colours of the traffic light. The whole registry (fn_registry_read) is ten times as large.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_looks_read(p_lang text)
returns jsonb
language sql
stable
set search_path = stepwell, pg_temp
as $$
    select jsonb_build_object(
        'states', (
            select jsonb_object_agg(m.scope, (
                select jsonb_object_agg(s.state_code, jsonb_build_object('label', t.text_value, 'icon', s.ui_icon_glyph,
                    'fg', c.config_value ->> 'fg', 'bg', c.config_value ->> 'bg'))
                from state_def as s
                inner join i18n_text as t on s.ui_label_i18n_key = t.text_key and t.lang = p_lang
                inner join dot_config as c on s.ui_color_token = c.config_key
                where s.state_machine_id = m.state_machine_id
            ))
            from state_machine_def as m where m.active
        ),
        'facets', (
            select jsonb_object_agg(m.scope, (
                select coalesce(jsonb_object_agg(f.facet_code, f.ui_icon_glyph || ' ' || t.text_value), '{}')
                from state_facet_def as f
                inner join i18n_text as t on f.ui_label_i18n_key = t.text_key and t.lang = p_lang
                where f.state_machine_id = m.state_machine_id
            ))
            from state_machine_def as m where m.active
        ),
        'colours', (
            select jsonb_object_agg(substr(c.config_key, length('ui.traffic_light.') + 1),
                jsonb_build_object('fg', c.config_value ->> 'fg', 'bg', c.config_value ->> 'bg'))
            from dot_config as c where c.config_key like 'ui.traffic\_light.%'
        )
    )
$$;

-- The vocabularies of reasons (vocab.* of dot_config), one row for each word.
create or replace view stepwell.v_vocabulary with (security_invoker = true) as
select
    split_part(c.config_key, '.', 2) as vocabulary,
    substr(c.config_key, length('vocab.' || split_part(c.config_key, '.', 2) || '.') + 1) as code,
    c.config_value ->> 'en' as label_en,
    c.config_value ->> 'vi' as label_vi
from stepwell.dot_config as c
where c.config_key like 'vocab.%.%';
