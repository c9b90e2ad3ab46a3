-- Purpose: the active state machine of a scope.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing; null when none is active.
create or replace function stepwell._machine_of(p_scope text) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return (select m.state_machine_id from stepwell.state_machine_def as m where m.scope = p_scope and m.active);
end
$$;
