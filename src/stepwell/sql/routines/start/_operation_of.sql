-- Purpose: the operation of a name; one never seen before is registered with the defaults of the default class.
-- Locks: none beyond a new row.
-- Idempotency: by name.
-- Raises: SW001 when the name is empty or too long.
create or replace function stepwell._operation_of(p_tenant_id int, p_operation_name text) returns stepwell.operation
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_operation stepwell.operation;
begin
    select o.* into v_operation
    from stepwell.operation as o
    where o.tenant_id = p_tenant_id and o.operation_name = p_operation_name;
    if found then
        return v_operation;
    end if;
    if coalesce(length(p_operation_name), 0) not between 1 and 200 then
        raise exception using errcode = 'SW001', message = 'operation: a name of 1 to 200 characters is required';
    end if;
    insert into stepwell.operation (tenant_id, operation_name, class_id)
    select p_tenant_id, p_operation_name, c.class_id from stepwell.executor_class as c where c.class_name = 'default'
    on conflict (tenant_id, operation_name) do update set operation_name = excluded.operation_name
    returning operation.* into v_operation;
    return v_operation;
end
$$;
