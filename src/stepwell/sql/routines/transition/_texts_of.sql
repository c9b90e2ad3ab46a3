-- Purpose: the texts of a JSON array; none when there is no array. A function of its own, because a subquery in the statement
--   that asks would be prepared for every call, and few need it.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._texts_of(p_array jsonb) returns text[]
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
begin
    return array(select jsonb_array_elements_text(p_array));
end
$$;
