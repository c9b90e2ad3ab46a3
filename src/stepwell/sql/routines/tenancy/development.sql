-- Development mode is written once, by the first migration of a database that Stepwell itself created (_development_enter),
-- and only left.

-- The row of the mode stays as it was written; the mode is left once.
-- Raises: SW003 for every other change.
create or replace function stepwell._development_mode_keep() returns trigger
language plpgsql
set search_path = stepwell, pg_temp
as $$
begin
    if tg_op <> 'UPDATE' or old.left_at is not null or new.left_at is null
        or (new.tenant_id, new.principal_id, new.entered_at) is distinct from (old.tenant_id, old.principal_id, old.entered_at) then
        raise exception using errcode = 'SW003', message = 'development mode can only be left, and not entered again';
    end if;
    return new;
end
$$;
create or replace trigger development_mode_is_only_left
before update or delete on stepwell.development_mode
for each row execute function stepwell._development_mode_keep();
create or replace trigger development_mode_is_not_emptied
before truncate on stepwell.development_mode
for each statement execute function stepwell._development_mode_keep();
