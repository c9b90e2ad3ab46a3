-- Purpose: keeps rule sets as they were approved, for their owner too: one is neither changed nor deleted.
-- Locks: none.
-- Idempotency: refuses always.
-- Raises: SW007.
create or replace function stepwell._policy_set_refuse() returns trigger
language plpgsql
set search_path = stepwell, pg_temp
as $$
begin
    raise exception using errcode = 'SW007', message = format('a rule set is final: %s is refused', lower(tg_op)),
        hint = 'propose another version';
end
$$;
create or replace trigger policy_sets_are_final
before update or delete or truncate on stepwell.policy_set
for each statement execute function stepwell._policy_set_refuse();
