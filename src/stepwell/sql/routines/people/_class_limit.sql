-- Purpose: a number of the configuration that may differ by workflow class: <prefix>.<class>, else <prefix>.default.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._class_limit(p_tenant_id int, p_unit_id bigint, p_prefix text) returns numeric
language sql stable
set search_path = stepwell, pg_temp
as $$
    select (c.config_value #>> '{}')::numeric
    from stepwell.run_detail as r
    inner join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
    inner join stepwell.dot_config as c on c.config_key in (p_prefix || '.' || w.workflow_class, p_prefix || '.default')
    where r.tenant_id = p_tenant_id and r.run_id = p_unit_id >> 20
    order by c.config_key = p_prefix || '.default'
    limit 1
$$;
