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
