-- Checks that the registry is complete and free of contradictions. One function finds the faults of each part.

-- Checks the registry: one row for each check, ok or with every fault named. Run after migrations and by `stepwell
-- doctor`.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_registry_check()
returns table (check_name text, ok boolean, detail text)
language plpgsql
stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    with checks (check_no, check_name) as (
        values
        (1, 'one_active_version_per_scope'),
        (2, 'floor_complete'),
        (3, 'derived_states_map_to_the_floor'),
        (4, 'machines_have_an_initial_state'),
        (5, 'facets_complete'),
        (6, 'transition_states_exist'),
        (7, 'ended_units_are_opened_only_by_reviewers'),
        (8, 'transition_events_registered'),
        (9, 'guard_predicates_whitelisted'),
        (10, 'guard_expressions_parse'),
        (11, 'hot_events_require_nothing'),
        (12, 'rules_are_current'),
        (13, 'texts_in_both_languages'),
        (14, 'colour_tokens_complete'),
        (15, 'dialects_total'),
        (16, 'rollup_rules_complete'),
        (17, 'failure_classes_unambiguous')
    ),
    faults as (
        select f.check_name, f.fault from _registry_state_faults() as f
        union all
        select f.check_name, f.fault from _registry_transition_faults() as f
        union all
        select f.check_name, f.fault from _registry_text_faults() as f
        union all
        select f.check_name, f.fault from _registry_word_faults() as f
    )
    select
        c.check_name,
        count(f.fault) = 0,
        coalesce(string_agg(f.fault, '; ' order by f.fault), 'ok')
    from checks as c
    left join faults as f on c.check_name = f.check_name
    group by c.check_no, c.check_name
    order by c.check_no;
end;
$$;

-- Faults of machines and states, each under the name of its check.
create or replace function stepwell._registry_state_faults()
returns table (check_name text, fault text)
language sql
stable
set search_path = stepwell, pg_temp
as $$
    with floor_state as (
        select f.* from _floor_states() as f
    ),
    scope_name (scope) as (
        values ('step'), ('task'), ('job'), ('workflow_run'), ('approval'), ('proposal'), ('receipt'), ('cut_request')
    ),
    floor_machine as (
        select m.state_machine_id, m.scope
        from state_machine_def as m
        where m.scope in ('step', 'task', 'job', 'workflow_run')
    )
    select 'one_active_version_per_scope', format('scope %s has %s active versions', n.scope, count(m.state_machine_id))
    from scope_name as n
    left join state_machine_def as m on n.scope = m.scope and m.active
    group by n.scope
    having count(m.state_machine_id) <> 1
    union all
    select 'floor_complete', format('%s lacks floor state %s', m.state_machine_id, f.state_code)
    from floor_machine as m
    cross join floor_state as f
    where not exists (
        select from state_def as s
        where s.state_machine_id = m.state_machine_id and s.state_code = f.state_code and not s.is_derived
    )
    union all
    select
        'floor_complete',
        format('%s state %s is (%s, terminal %s, ordinal %s, %s), the floor says (%s, terminal %s, ordinal %s, %s)',
            s.state_machine_id, s.state_code, s.semantic_class, s.is_terminal, s.ordinal, s.ui_color_token,
            f.semantic_class, f.is_terminal, f.ordinal, f.ui_color_token)
    from floor_machine as m
    inner join state_def as s on m.state_machine_id = s.state_machine_id
    inner join floor_state as f on s.state_code = f.state_code
    where (s.semantic_class, s.is_terminal, s.ordinal, s.ui_color_token)
        <> (f.semantic_class, f.is_terminal, f.ordinal, f.ui_color_token)
    union all
    select 'derived_states_map_to_the_floor', format('%s state %s is neither of the floor nor derived from it',
        s.state_machine_id, s.state_code)
    from floor_machine as m
    inner join state_def as s on m.state_machine_id = s.state_machine_id
    where not s.is_derived and not exists (select from floor_state as f where f.state_code = s.state_code)
    union all
    select 'derived_states_map_to_the_floor', format('%s state %s has floor equivalent %s, which is not a floor state',
        s.state_machine_id, s.state_code, s.floor_equivalent)
    from state_def as s
    where s.is_derived and not exists (select from floor_state as f where f.state_code = s.floor_equivalent)
    union all
    select 'derived_states_map_to_the_floor', format('%s state %s has an empty justification',
        s.state_machine_id, s.state_code)
    from state_def as s
    where s.is_derived and btrim(s.justification) = ''
    union all
    select 'machines_have_an_initial_state', format('%s has no initial state', m.state_machine_id)
    from state_machine_def as m
    where not exists (select from state_def as s where s.state_machine_id = m.state_machine_id and s.is_initial);
$$;

-- Faults of transitions, guards and event contracts, each under the name of its check.
create or replace function stepwell._registry_transition_faults()
returns table (check_name text, fault text)
language plpgsql
stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_view text;
    v_difference_count bigint;
begin
    return query
    with edge as (
        select
            t.*,
            format('%s %s: %s -> %s by %s', t.state_machine_id, t.transition_code, t.from_state, t.to_state,
                t.actor_class) as name
        from transition_def as t
    )
    select 'transition_states_exist', format('%s names a state the machine lacks', e.name)
    from edge as e
    where not exists (
        select from state_def as s where s.state_machine_id = e.state_machine_id and s.state_code = e.from_state
    ) or not exists (
        select from state_def as s where s.state_machine_id = e.state_machine_id and s.state_code = e.to_state
    )
    union all
    select 'ended_units_are_opened_only_by_reviewers', format('%s leaves a terminal state', e.name)
    from edge as e
    inner join state_def as s on e.state_machine_id = s.state_machine_id and e.from_state = s.state_code
    where s.is_terminal and e.actor_class <> 'reviewer'
    union all
    select 'transition_events_registered', case when r.event_type is null
        then format('%s emits no event', e.name)
        else format('%s emits %s, which is not registered', e.name, e.emitted_event_type) end
    from edge as e
    left join event_type_registry as r on e.emitted_event_type = r.event_type
    where r.is_registered is not true
    union all
    select 'guard_predicates_whitelisted', format('%s names guard %s, which is not in guard_predicate',
        e.name, e.guard_ref)
    from edge as e
    where e.guard_kind = 'predicate_fn'
        and not exists (select from guard_predicate as g where g.predicate_name = e.guard_ref)
    union all
    select 'guard_expressions_parse', format('%s: %s', e.name, _guard_path_problem(e.guard_ref))
    from edge as e
    where e.guard_kind = 'config' and _guard_path_problem(e.guard_ref) is not null
    union all
    select 'guard_predicates_whitelisted', format('guard %1$s is not built in, and function guard_%1$s is missing',
        g.predicate_name)
    from guard_predicate as g
    where not g.is_builtin
        and to_regprocedure(format('stepwell.%I(stepwell.work_unit, jsonb)', 'guard_' || g.predicate_name)) is null
    union all
    select 'hot_events_require_nothing', format('%s requires %s', f.event_type, f.field_name)
    from event_field_def as f
    where f.is_required and f.event_type in (
        'step.ready', 'step.started', 'step.completed', 'job.enqueued', 'job.ready', 'job.started', 'job.completed'
    );

    foreach v_view in array array['transition_rule', 'rollup_rule'] loop
        execute format(
            'select count(*) from ((select * from %1$I except all (%2$s)) '
            'union all ((%2$s) except all select * from %1$I)) as d',
            v_view, rtrim(pg_get_viewdef(v_view::regclass), ';'))
        into v_difference_count;
        if v_difference_count > 0 then
            return query select 'rules_are_current', format(
                '%s differs from the registry in %s rows; run fn_registry_refresh', v_view, v_difference_count);
        end if;
    end loop;
end;
$$;

-- Why a path cannot be a guard: it is no SQL/JSON path, or reads what a guard does not have. Null when it can.
create or replace function stepwell._guard_path_problem(p_path text) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select case when j.problem is not null then j.problem
        else 'a guard has no ' || stepwell._path_unknown_root(p_path, '{input,steps,unit,evidence,item,index}')
            || '; it has input, steps, unit and evidence' end
    from (select stepwell._jsonpath_problem(p_path)) as j (problem)
$$;

-- Why a text is no SQL/JSON path; null when it is one. (pg_input_is_valid exists only since PostgreSQL 16.)
create or replace function stepwell._jsonpath_problem(p_expression text)
returns text
language plpgsql
immutable
set search_path = stepwell, pg_temp
as $$
begin
    perform p_expression::jsonpath;
    return null;
exception
    when others then
        return sqlerrm;
end;
$$;

-- Faults of facets, dialects, roll-up rules and failure classes, each under the name of its check.
create or replace function stepwell._registry_word_faults()
returns table (check_name text, fault text)
language plpgsql
stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select 'facets_complete', format('%s lacks facet %s of waiting', m.state_machine_id, w.facet_code)
    from state_machine_def as m
    cross join (values ('waiting_dependency'), ('waiting_human'), ('waiting_external'), ('waiting_time_gate'))
        as w (facet_code)
    where m.scope in ('step', 'task', 'job') and not exists (
        select from state_facet_def as d
        where d.state_machine_id = m.state_machine_id and d.state_code = 'waiting' and d.facet_code = w.facet_code
    )
    union all
    -- The facets that the log accepts and the facets that the registry declares must be the same.
    select 'facets_complete', format('facet %s of %s is no allowed value of %s.waiting',
        d.facet_code, d.state_machine_id, m.scope)
    from state_machine_def as m
    inner join state_facet_def as d on m.state_machine_id = d.state_machine_id and d.state_code = 'waiting'
    inner join event_field_def as e
        on e.event_type = m.scope || '.waiting' and e.field_name = 'waiting_facet'
    where d.facet_code <> all(e.allowed_values)
    union all
    select 'dialects_total', format('dialect %s has no word for %s state %s', d.dialect, m.scope, s.state_code)
    from state_machine_def as m
    inner join state_def as s on m.state_machine_id = s.state_machine_id
    cross join (values ('linear'), ('runtime'), ('node'), ('job')) as d (dialect)
    left join state_dialect as w
        on m.scope = w.scope and s.state_code = w.state_code and d.dialect = w.dialect
    where m.active and m.scope in ('step', 'workflow_run')
    group by d.dialect, m.scope, s.state_code
    -- A failed step is always transient or permanent, so no row without a qualifier is needed.
    having not coalesce(bool_or(w.qualifier = ''), false)
        and not (coalesce(bool_or(w.qualifier = 'transient'), false)
            and coalesce(bool_or(w.qualifier = 'permanent'), false))
    union all
    select 'rollup_rules_complete', format('the active run machine has no active rule %s', r.rule)
    from (values ('R-1'), ('R-2'), ('R-3'), ('R-4'), ('R-5'), ('R-6')) as r (rule)
    where not exists (
        select from rollup_policy_def as p
        inner join state_machine_def as m on p.state_machine_id = m.state_machine_id
        where m.active and m.scope = 'workflow_run' and p.active and p.policy_config_jsonb ->> 'rule' = r.rule
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

-- Faults of texts and colours, each under the name of its check.
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
        select 'guard.' || predicate_name from guard_predicate
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
    select 'colour_tokens_complete', format('%s has no shape_token', c.config_key)
    from dot_config as c
    where c.config_key like 'ui.traffic\_light.%' and coalesce(c.config_value ->> 'shape_token', '') = ''
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

-- The contrast of two colours (#RRGGBB) by the formula of WCAG 2.1, rounded to two digits; null when a colour is not
-- written as #RRGGBB.
create or replace function stepwell._contrast_ratio(p_fg text, p_bg text)
returns numeric
language sql
immutable
set search_path = stepwell, pg_temp
as $$
    with channel as (
        select
            c.colour,
            c.weight,
            get_byte(decode(substr(c.code, c.offset_no, 2), 'hex'), 0) / 255.0 as value
        from (
            select
                h.colour,
                h.code,
                w.offset_no,
                w.weight
            from (values (1, p_fg), (2, p_bg)) as h (colour, code)
            cross join (values (2, 0.2126), (4, 0.7152), (6, 0.0722)) as w (offset_no, weight)
            where p_fg ~ '^#[0-9A-Fa-f]{6}$' and p_bg ~ '^#[0-9A-Fa-f]{6}$'
        ) as c
    ),
    luminance as (
        select sum(weight * case when value <= 0.04045 then value / 12.92 else power((value + 0.055) / 1.055, 2.4) end)
            as value
        from channel
        group by colour
    )
    select round((max(value) + 0.05) / (min(value) + 0.05), 2) from luminance;
$$;
