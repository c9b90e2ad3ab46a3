-- Which tenant a program that connects acts for, and as whom.

-- The tenant with this code, for a program that connects: the bound one, or any for a caller that needs no binding.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when there is none; SW007 when the transaction is bound to another tenant, or to none and must be.
create or replace function stepwell.fn_tenant_find(p_tenant_code text) returns int
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_tenant_id constant int := (select t.tenant_id from stepwell.tenant as t where t.tenant_code = p_tenant_code);
begin
    if coalesce(current_setting('stepwell.binding', true), '') <> '' or not stepwell._acts_for_all() then
        if stepwell.bound_tenant() <> v_tenant_id or (stepwell.bound_tenant() is not null and v_tenant_id is null) then
            -- The same for a tenant that does not exist: nobody learns which tenants there are.
            raise exception using errcode = 'SW007', column = 'tenant',
                message = format('this transaction is bound to another tenant than %s', p_tenant_code);
        end if;
        perform stepwell._tenant_bound(v_tenant_id);
    end if;
    if v_tenant_id is null then
        raise exception using errcode = 'SW002', column = 'tenant', message = format('tenant %s does not exist', p_tenant_code),
            hint = coalesce(stepwell.fn_name_suggest(0, 'tenant', p_tenant_code), '');
    end if;
    return v_tenant_id;
end
$$;

-- Which tenant a program that connects acts for, and who acts there if it names nobody: the bound principal, also that of the
-- development mode. Without a code it is the bound tenant.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 and SW007 as fn_tenant_find.
create or replace function stepwell.fn_caller_read(p_tenant_code text default null) returns table (tenant_id int, principal_name text)
language plpgsql stable security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_tenant_id constant int := case when p_tenant_code is null then stepwell.bound_tenant() else stepwell.fn_tenant_find(p_tenant_code) end;
begin
    perform stepwell._tenant_bound(v_tenant_id);
    return query select v_tenant_id, (select p.principal_name from stepwell.principal as p
        where p.tenant_id = v_tenant_id and p.tenant_id = stepwell.bound_tenant() and p.principal_id = stepwell.bound_principal());
end
$$;
