-- Purpose: who somebody is, whichever way they came: `cli:ada`, `api:ada` and `ada` are one person.
-- Locks: none.
-- Idempotency: pure.
-- Raises: nothing.
create or replace function stepwell._actor_plain(p_actor text) returns text
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select regexp_replace(p_actor, '^(cli|api|web|ui|slack):', '')
$$;
