-- Purpose: keeps block headers final, for their owner too: none is changed or removed, not by mistake either.
-- Locks: none.
-- Idempotency: refuses always.
-- Raises: SW007.
create or replace function stepwell._audit_block_refuse() returns trigger
language plpgsql
set search_path = stepwell, pg_temp
as $$
begin
    raise exception using errcode = 'SW007',
        message = format('%s is the seal of the log: %s is refused', tg_table_name, lower(tg_op));
end
$$;
create or replace trigger audit_block_is_final
before update or delete or truncate on stepwell.audit_block
for each statement execute function stepwell._audit_block_refuse();
