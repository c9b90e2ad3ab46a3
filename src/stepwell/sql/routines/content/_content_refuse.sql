-- Purpose: a version that was written stays as it is; a change is another version.
-- Locks: none.
-- Idempotency: always refuses.
-- Raises: SW007.
create or replace function stepwell._content_refuse() returns trigger
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    raise exception using errcode = 'SW007', hint = 'write a new version',
        message = format('%s holds final versions: %s is refused', tg_table_name, lower(tg_op));
end
$$;
create or replace trigger versions_are_final
before update or delete or truncate on stepwell.information_unit_version
for each statement execute function stepwell._content_refuse();
create or replace trigger bundle_items_are_final
before update or delete or truncate on stepwell.information_bundle_item
for each statement execute function stepwell._content_refuse();
