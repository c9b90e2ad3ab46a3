-- Purpose: faults of texts and colours, under the name of the check they break.
-- Locks: none.
-- Idempotency: read only.
-- Raises: nothing.
create or replace function stepwell._registry_text_faults()
returns table (check_name text, fault text)
language plpgsql
stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    with wanted_text (text_key) as (
        select ui_label_i18n_key from state_def
        union
        select ui_short_message_key from state_def
        union
        select ui_label_i18n_key from state_facet_def
        union
        select text_key from i18n_text
    )
    select 'texts_in_both_languages', format('%s has no %s text', w.text_key, l.lang)
    from wanted_text as w
    cross join (values ('vi'), ('en')) as l (lang)
    where not exists (select from i18n_text as t where t.text_key = w.text_key and t.lang = l.lang);

    return query
    with token as (
        select config_key, config_value as pair, 4.5 as least, 'normal' as mode
        from dot_config where config_key like 'ui.traffic\_light.%'
        union all
        select config_key, config_value -> 'high_contrast', 7.0, 'high contrast'
        from dot_config where config_key like 'ui.traffic\_light.%'
    ),
    measured as (
        select *, _contrast_ratio(pair ->> 'fg', pair ->> 'bg') as ratio from token
    )
    select 'colour_tokens_complete', format('state %s of %s uses %s, which is not in dot_config',
        s.state_code, s.state_machine_id, s.ui_color_token)
    from state_def as s
    where not exists (select from dot_config as c where c.config_key = s.ui_color_token)
    union all
    select 'colour_tokens_complete', format('%s has no shape', c.config_key)
    from dot_config as c
    where c.config_key like 'ui.traffic\_light.%' and coalesce(c.config_value ->> 'shape', '') = ''
    union all
    select 'colour_tokens_complete', format('%s, %s: fg and bg must be written #RRGGBB', m.config_key, m.mode)
    from measured as m
    where m.ratio is null
    union all
    select 'colour_tokens_complete', format('%s, %s: contrast is %s, declared %s, required at least %s',
        m.config_key, m.mode, m.ratio, coalesce(m.pair ->> 'contrast_ratio', 'nothing'), m.least)
    from measured as m
    where m.ratio < m.least or m.pair -> 'contrast_ratio' is distinct from to_jsonb(trim_scale(m.ratio));
end;
$$;
