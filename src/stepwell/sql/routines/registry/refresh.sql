-- How edits of the registry take effect.

-- Makes edits of the registry take effect: the transition core reads only the materialised rules. Call it in the
-- transaction of the edit, so that rules and rows change together. Returns the number of edges.
-- Locks: exclusive on transition_rule, then rollup_rule; the core reads the old rules until commit.
-- Idempotency: a second call changes nothing.
-- Raises: nothing of its own.
create or replace function stepwell.fn_registry_refresh()
returns bigint
language plpgsql
set search_path = stepwell, pg_temp
as $$
begin
    refresh materialized view concurrently transition_rule;
    refresh materialized view concurrently rollup_rule;
    return (select count(*) from transition_rule where not leases_directly);
end;
$$;
