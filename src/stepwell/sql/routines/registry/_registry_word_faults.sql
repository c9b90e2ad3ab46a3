-- Purpose: faults of texts, colours, dialects, roll-up rules and failure classes, under the name of their check.
-- Locks: none.
-- Idempotency: read only.
-- Raises: nothing.
create or replace function stepwell._registry_word_faults()
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

    return query
    select 'dialects_total', format('dialect %s has no word for %s state %s', d.dialect, m.scope, s.state_code)
    from state_machine_def as m
    inner join state_def as s on m.state_machine_id = s.state_machine_id
    cross join (values ('linear'), ('runtime'), ('node'), ('job')) as d (dialect)
    left join state_dialect as w
        on m.scope = w.scope and s.state_code = w.state_code and d.dialect = w.dialect
    where m.active and m.scope in ('step', 'workflow_run')
    group by d.dialect, m.scope, s.state_code
    -- A failed step is always one of the two; then no row without a qualifier is needed.
    having not coalesce(bool_or(w.qualifier = ''), false)
        and not (coalesce(bool_or(w.qualifier = 'transient'), false)
            and coalesce(bool_or(w.qualifier = 'permanent'), false))
    union all
    select 'rollup_rules_complete', format('rule %s of the active run machine is missing or inactive', r.policy_code)
    from (values ('R-1'), ('R-2'), ('R-3'), ('R-4'), ('R-5'), ('R-6')) as r (policy_code)
    where not exists (
        select from rollup_policy_def as p
        inner join state_machine_def as m on p.state_machine_id = m.state_machine_id
        where m.active and m.scope = 'workflow_run' and p.active and p.policy_code = r.policy_code
    )
    union all
    select 'failure_classes_unambiguous', format('exception %s has %s classes: %s', e.exception_name, count(*),
        string_agg(f.failure_class, ', ' order by f.failure_class))
    from failure_class_registry as f
    cross join lateral unnest(f.exception_names) as e (exception_name)
    group by e.exception_name
    having count(*) > 1
    union all
    select 'failure_classes_unambiguous', 'the default class handler_error is missing'
    where not exists (select from failure_class_registry where failure_class = 'handler_error');
end;
$$;
