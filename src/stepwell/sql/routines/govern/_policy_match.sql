-- Purpose: is a match expression true of an action? true, false, unknown, or what went wrong.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing but the statement's time-out.
create or replace function stepwell._policy_match(p_match text, p_action jsonb) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return coalesce(jsonb_path_match(p_action, p_match::jsonpath, '{}', false)::text, 'unknown');
exception when others then
    return sqlerrm;
end
$$;
