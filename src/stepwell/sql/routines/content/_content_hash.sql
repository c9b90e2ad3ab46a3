-- Purpose: what makes two versions the same: the body and, of a bundle, the versions it holds in order.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when an item does not exist.
create or replace function stepwell._content_hash(p_tenant_id int, p_body text, p_items text[]) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select encode(sha256(convert_to(p_body || coalesce((
        select string_agg(E'\n' || x.code || ':' || c.version_no, '' order by x.place)
        from unnest(p_items) with ordinality as x (code, place)
        cross join lateral stepwell._content_current(p_tenant_id, x.code) as c), ''), 'UTF8')), 'hex')
$$;
