-- Purpose: a person by name, as sentences and lists show them; null when nobody is meant.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._person_name(p_tenant_id int, p_person_id bigint) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce((select p.person_name from stepwell.person as p
        where p.tenant_id = p_tenant_id and p.person_id = p_person_id), p_person_id::text)
$$;
