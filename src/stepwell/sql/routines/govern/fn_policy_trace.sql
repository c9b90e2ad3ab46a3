-- Purpose: how each rule of a set stands to an action, in the order in which they are asked: true, false, unknown, or why
--   it cannot be evaluated. For people who want to know why.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing but the statement's time-out.
create or replace function stepwell.fn_policy_trace(p_rules jsonb, p_action jsonb)
returns table (priority int, rule text, effect text, answer text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select (r.body ->> 'priority')::int, r.body ->> 'name', r.body ->> 'effect',
        stepwell._policy_match(r.body ->> 'match', p_action)
    from jsonb_array_elements(case when exists (select from stepwell.fn_policy_check(p_rules)) then '[]' else p_rules end)
        as r (body)
    order by 1
$$;
