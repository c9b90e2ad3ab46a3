-- Purpose: what a new rule set changes: rules added, removed and changed, by name.
-- Locks: none.
-- Idempotency: pure.
-- Raises: nothing.
create or replace function stepwell._policy_diff(p_old jsonb, p_new jsonb) returns jsonb
language sql immutable
set search_path = stepwell, pg_temp
as $$
    with pair as (
        select o.body as old_rule, n.body as new_rule
        from (select r.body from jsonb_array_elements(coalesce(p_old, '[]')) as r (body)) as o
        full join (select r.body from jsonb_array_elements(p_new) as r (body)) as n
            on o.body ->> 'name' = n.body ->> 'name'
    )
    select jsonb_build_object(
        'added', coalesce(jsonb_agg(p.new_rule order by (p.new_rule ->> 'priority')::int)
            filter (where p.old_rule is null), '[]'),
        'removed', coalesce(jsonb_agg(p.old_rule order by (p.old_rule ->> 'priority')::int)
            filter (where p.new_rule is null), '[]'),
        'changed', coalesce(jsonb_agg(jsonb_build_object('old', p.old_rule, 'new', p.new_rule)
            order by (p.new_rule ->> 'priority')::int)
            filter (where p.old_rule is not null and p.new_rule is not null and p.old_rule <> p.new_rule), '[]'))
    from pair as p
$$;
