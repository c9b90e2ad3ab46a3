-- The colour of a run. It comes from the counters in run_progress, which every state change moves.

-- The colour of a run from its counters, by the policy rows: the highest-ranked class that has a step. In plpgsql, which
-- keeps its plan: every run that begins or ends asks for it.
create or replace function stepwell._rollup_colour(p_red_count bigint, p_wait_count bigint, p_active_count bigint)
returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return (
        select r.colour
        from stepwell.rollup_rule as r
        where case r.semantic_class
            when 'red' then p_red_count > 0
            when 'wait' then p_wait_count > 0
            when 'active' then p_active_count > 0
            else true end
        order by r.rank
        limit 1);
end
$$;

-- The state of a step from the colour of the sub-run inside it.
create or replace function stepwell._subrun_state(p_colour text) returns text
language sql immutable parallel safe
set search_path = stepwell, pg_temp
as $$
    select case p_colour when 'red' then 'failed' when 'yellow' then 'blocked' else 'in_progress' end
$$;
