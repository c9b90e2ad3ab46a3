-- Purpose: faults of machines and states, one row each, under the name of the check they break.
-- Locks: none.
-- Idempotency: read only.
-- Raises: nothing.
create or replace function stepwell._registry_state_faults()
returns table (check_name text, fault text)
language sql
stable
set search_path = stepwell, pg_temp
as $$
    with floor_state (state_code, semantic_class, is_terminal, ordinal) as (
        values
        ('not_started', 'idle', false, 1), ('ready', 'active', false, 2), ('in_progress', 'active', false, 3),
        ('waiting', 'wait', false, 4), ('blocked', 'wait', false, 5), ('overdue', 'red', false, 6),
        ('failed', 'red', false, 7), ('cannot_complete', 'red', false, 8), ('completed', 'active', true, 9)
    ),
    scope_name (scope) as (
        values ('step'), ('task'), ('job'), ('workflow_run'), ('approval'), ('proposal'), ('receipt')
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
        format('%s state %s is (%s, terminal %s, ordinal %s), the floor says (%s, terminal %s, ordinal %s)',
            s.state_machine_id, s.state_code, s.semantic_class, s.is_terminal, s.ordinal,
            f.semantic_class, f.is_terminal, f.ordinal)
    from floor_machine as m
    inner join state_def as s on m.state_machine_id = s.state_machine_id
    inner join floor_state as f on s.state_code = f.state_code
    where (s.semantic_class, s.is_terminal, s.ordinal) <> (f.semantic_class, f.is_terminal, f.ordinal)
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
