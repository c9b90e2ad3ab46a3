-- A demo begins in an empty database, and ends when somebody turns it off.

-- Says that this database is a demo. Only the owner of the schema may call it. Returns whether this call began it.
-- Locks: the new row.
-- Idempotency: a database that is a demo, or was one, stays as it is, and false is returned.
-- Raises: SW003 when the database has runs: what is real is never called a demo.
create or replace function stepwell.fn_demo_begin(p_tenant_id int) returns boolean
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    if exists (select from stepwell.demo) then
        return false;
    end if;
    if exists (select from stepwell.run_detail) then
        raise exception using errcode = 'SW003', message = 'this database has runs, so it does not become a demo',
            hint = 'give the demo an empty folder: stepwell --data-dir FOLDER up --demo';
    end if;
    insert into stepwell.demo (tenant_id, begun_at) values (p_tenant_id, stepwell.now());
    perform stepwell._event_append(p_tenant_id, 0, 'demo.begun', 'engine', '{}');
    return true;
end
$$;

-- Turns the demo off: the people and runs stay, nothing new comes, and no page speaks of a demo any more. Only the owner of the
-- schema may call it. Returns whether this call did it.
-- Locks: the row of the demo.
-- Idempotency: a database that is no demo stays as it is, and false is returned.
-- Raises: SW001 for a name that is not accepted; SW007 when nobody has the name of the actor.
create or replace function stepwell.fn_demo_leave(p_actor text) returns boolean
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_tenant_id int;
    v_actor text;
begin
    select d.tenant_id into v_tenant_id from stepwell.demo as d where d.left_at is null for update;
    if not found then
        return false;
    end if;
    v_actor := stepwell._actor_known(v_tenant_id, p_actor, 'principal.change');
    update stepwell.demo as d set left_at = stepwell.now(), left_by = v_actor where d.left_at is null;
    perform stepwell._event_append(v_tenant_id, 0, 'demo.left', v_actor, '{}');
    return true;
end
$$;
