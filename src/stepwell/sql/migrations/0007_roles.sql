-- Who may touch what: three group roles. What they may do is granted by fn_privileges_apply after the routines are
-- in force, so that a function or table of a later release is closed until it is opened on purpose.
-- Roles belong to the whole cluster: another database may have made them, or may be making them now.
do $$
declare
    v_role text;
begin
    foreach v_role in array array['stepwell_api', 'stepwell_worker', 'stepwell_reader'] loop
        if not exists (select from pg_roles as r where r.rolname = v_role) then
            begin
                execute format('create role %I nologin', v_role);
            exception
                when duplicate_object or unique_violation then
                    raise notice 'role % was made by another database of this cluster', v_role;
                when insufficient_privilege then
                    raise notice 'role % is missing and may not be made; make it and migrate again to use it', v_role;
            end;
        end if;
    end loop;
end
$$;
