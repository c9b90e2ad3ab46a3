-- Purpose: removes a schedule; the runs it started stay.
-- Locks: the schedule's row.
-- Idempotency: a schedule that is gone is SW002.
-- Raises: SW002 when there is no such schedule; SW007 for another tenant.
create or replace function stepwell.fn_schedule_delete(p_tenant_id int, p_schedule_name text) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._tenant_bound(p_tenant_id);
    delete from stepwell.workflow_schedule as s
    where s.tenant_id = p_tenant_id and s.schedule_name = p_schedule_name;
    if not found then
        raise exception using errcode = 'SW002', message = format('schedule %s does not exist', p_schedule_name);
    end if;
end
$$;
