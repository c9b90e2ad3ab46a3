-- Purpose: faults of facets, dialects, roll-up rules and failure classes, under the name of the check they break.
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
    select 'facets_complete', format('%s lacks facet %s of waiting', m.state_machine_id, w.facet_code)
    from state_machine_def as m
    cross join (values ('waiting_dependency'), ('waiting_human'), ('waiting_external'), ('waiting_time_gate'))
        as w (facet_code)
    where m.scope in ('step', 'task', 'job') and not exists (
        select from state_facet_def as d
        where d.state_machine_id = m.state_machine_id and d.state_code = 'waiting' and d.facet_code = w.facet_code
    )
    union all
    -- What the log accepts as a facet and what the registry declares must be the same words.
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
    -- A failed step is always one of the two; then no row without a qualifier is needed.
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
