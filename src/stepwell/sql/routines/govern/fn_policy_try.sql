-- Purpose: what a rule set that is not stored would say to an action; for files under test.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing but the statement's time-out.
create or replace function stepwell.fn_policy_try(p_rules jsonb, p_action jsonb) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select stepwell._policy_judge(p_rules, p_action)
$$;
