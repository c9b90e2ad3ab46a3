-- Purpose: pauses a schedule, or lets it go on. Times that pass while it is paused are not made up for: its next time
--   is found anew by the keeper.
-- Locks: the schedule's row.
-- Idempotency: yes.
-- Raises: SW002 when there is no such schedule; SW007 for another tenant.
create or replace function stepwell.fn_schedule_pause(p_tenant_id int, p_schedule_name text, p_is_paused boolean)
returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._tenant_bound(p_tenant_id);
    update stepwell.workflow_schedule as s
    set is_paused = p_is_paused, next_at = case when s.is_paused = p_is_paused then s.next_at end
    where s.tenant_id = p_tenant_id and s.schedule_name = p_schedule_name;
    if not found then
        raise exception using errcode = 'SW002', message = format('schedule %s does not exist', p_schedule_name);
    end if;
end
$$;
