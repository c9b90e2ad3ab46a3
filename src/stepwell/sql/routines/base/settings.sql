-- Numbers that an operator may change, from the table dot_config.

-- A numeric limit from dot_config. A missing key counts as 1000, so that nothing is ever without a limit.
create or replace function stepwell._limit(p_key text) returns int
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return coalesce(
        (select (c.config_value #>> '{}')::int from stepwell.dot_config as c where c.config_key = p_key), 1000);
end
$$;

-- What is said of a value that is larger than allowed: the size, the limit, and what to do instead.
create or replace function stepwell._too_large(p_what text, p_bytes bigint, p_limit int) returns text
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select format('%s: %s bytes; at most %s bytes are accepted: store what is large elsewhere and pass a reference'
        ' (in Python: sw.Ref)', p_what, p_bytes, p_limit)
$$;

-- Refuses a value that is larger than the limit of this key.
-- Raises: SW006.
create or replace function stepwell._size_check(p_field text, p_what text, p_bytes int, p_key text) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_limit constant int := stepwell._limit(p_key);
begin
    if p_bytes > v_limit then
        raise exception using errcode = 'SW006', column = p_field, message = stepwell._too_large(p_what, p_bytes, v_limit);
    end if;
end
$$;

-- A number from dot_config that may differ by workflow class: the key <prefix>.<class>, else <prefix>.default.
create or replace function stepwell._class_limit(p_tenant_id int, p_unit_id bigint, p_prefix text) returns numeric
language sql stable
set search_path = stepwell, pg_temp
as $$
    select (c.config_value #>> '{}')::numeric
    from stepwell.run_detail as r
    inner join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
    inner join stepwell.dot_config as c on c.config_key in (p_prefix || '.' || w.workflow_class, p_prefix || '.default')
    where r.tenant_id = p_tenant_id and r.run_id = stepwell._run_of(p_unit_id)
    order by c.config_key = p_prefix || '.default'
    limit 1
$$;
