-- Purpose: the colour of a run from its counters, by the policy rows: the highest-ranked class that has a step.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._rollup_colour(p_red_count bigint, p_wait_count bigint, p_active_count bigint)
returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select r.colour
    from stepwell.rollup_rule as r
    where case r.semantic_class
        when 'red' then p_red_count > 0
        when 'wait' then p_wait_count > 0
        when 'active' then p_active_count > 0
        else true end
    order by r.rank
    limit 1
$$;
