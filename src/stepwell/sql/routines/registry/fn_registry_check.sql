-- Purpose: prove that the registry is whole: one row per check, ok or with every fault named.
-- Run after migrations and by `stepwell doctor`.
-- Locks: none.
-- Idempotency: read only.
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
