-- Purpose: faults of transitions, guards and event contracts, under the name of the check they break.
-- Locks: none.
-- Idempotency: read only.
-- Raises: nothing.
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
    select 'guard_expressions_parse', format('%s: %s', e.name, _jsonpath_problem(e.guard_ref))
    from edge as e
    where e.guard_kind = 'config' and _jsonpath_problem(e.guard_ref) is not null
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
