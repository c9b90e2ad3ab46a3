-- A login role for each process: the keeper and what speaks with Slack get roles of their own. They are made without
-- login here; `stepwell db roles` lets them log in. Roles belong to the whole cluster: another database may have made
-- them, or may be making them now.
do $$
declare
    v_role text;
begin
    foreach v_role in array array['stepwell_keeper', 'stepwell_slack'] loop
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
