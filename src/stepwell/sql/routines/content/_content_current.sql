-- Purpose: the current version of a content unit.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when there is no such unit.
create or replace function stepwell._content_current(p_tenant_id int, p_code text)
returns table (iu_id bigint, version_no int, content_hash text)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select v.iu_id, v.version_no, v.content_hash
    from stepwell.information_unit as u
    inner join stepwell.information_unit_version as v on u.tenant_id = v.tenant_id and u.iu_id = v.iu_id
    where u.tenant_id = p_tenant_id and u.iu_code = p_code
    order by v.version_no desc limit 1;
    if not found then
        raise exception using errcode = 'SW002', message = format('content %s does not exist', p_code);
    end if;
end
$$;
