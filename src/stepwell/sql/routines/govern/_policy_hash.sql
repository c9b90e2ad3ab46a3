-- Purpose: the digest of a rule set: the same rules, the same digest.
-- Locks: none.
-- Idempotency: pure.
-- Raises: nothing.
create or replace function stepwell._policy_hash(p_rules jsonb) returns text
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select encode(sha256(convert_to(p_rules::text, 'UTF8')), 'hex')
$$;
