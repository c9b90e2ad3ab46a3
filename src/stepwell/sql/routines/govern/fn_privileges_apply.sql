-- Purpose: says who may touch what: functions are closed to the public and opened to the group roles, tables can be read
--   by the API and by readers, written by nobody but the functions, and every table of a tenant shows a role only
--   the rows of the tenant its transaction is bound to (setting stepwell.tenant_id). Run after every migration.
-- Locks: exclusive on a table that is not yet secured; catalog rows otherwise.
-- Idempotency: yes; roles that do not exist are passed over.
-- Raises: nothing of its own.
create or replace function stepwell.fn_privileges_apply() returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_object record;
    v_role text;
begin
    for v_object in
        select c.relname
        from pg_class as c
        inner join pg_attribute as a on c.oid = a.attrelid and a.attname = 'tenant_id' and not a.attisdropped
        where c.relnamespace = 'stepwell'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
            and not exists (select from pg_policy as p where p.polrelid = c.oid and p.polname = 'tenant_is_bound')
        order by c.relname
    loop
        execute format('alter table stepwell.%I enable row level security', v_object.relname);
        execute format('create policy tenant_is_bound on stepwell.%I using (tenant_id = (select
            nullif(current_setting(''stepwell.tenant_id'', true), '''')::int))', v_object.relname);
    end loop;
    revoke all on all functions in schema stepwell from public;
    foreach v_role in array array['stepwell_api', 'stepwell_worker', 'stepwell_reader'] loop
        if exists (select from pg_roles as r where r.rolname = v_role) then
            execute format('grant usage on schema stepwell to %I', v_role);
            execute format('revoke all on all tables in schema stepwell from %I', v_role);
            execute format('revoke all on all functions in schema stepwell from %I', v_role);
            for v_object in select g.statement from stepwell._privileges_of(v_role) as g order by g.statement loop
                execute v_object.statement;
            end loop;
        end if;
    end loop;
    -- A worker must find its tenant by name before it can act for it.
    if exists (select from pg_roles as r where r.rolname = 'stepwell_worker') then
        drop policy if exists worker_finds_tenants on stepwell.tenant;
        create policy worker_finds_tenants on stepwell.tenant for select to stepwell_worker using (true);
    end if;
end
$$;
