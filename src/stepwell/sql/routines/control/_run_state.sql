-- Purpose: the state of a run.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when there is no such run.
create or replace function stepwell._run_state(p_tenant_id int, p_run_id bigint) returns text
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_state text;
begin
    select u.state_code into v_state
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = p_run_id << 20 and u.scope = 'workflow_run';
    if not found then
        raise exception using errcode = 'SW002', message = format('run %s does not exist', p_run_id);
    end if;
    return v_state;
end
$$;
