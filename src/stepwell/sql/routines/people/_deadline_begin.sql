-- Purpose: a step whose deadline counts from its start gets it when a person first takes it up.
-- Locks: the caller holds the run.
-- Idempotency: a deadline that is set stays.
-- Raises: nothing.
create or replace function stepwell._deadline_begin(p_tenant_id int, p_unit_id bigint) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    update stepwell.work_unit as u set deadline_at = stepwell._deadline_of(u.tenant_id, d.config, stepwell.now())
    from stepwell.workflow_step_def as d
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id and u.scope = 'step' and u.deadline_at is null
        and d.tenant_id = u.tenant_id and d.version_id = u.version_id and d.step_no = u.def_no
        and d.config ->> 'deadline_from' = 'start';
    if found then
        perform stepwell._people_timers(p_tenant_id, array[p_unit_id]);
    end if;
end
$$;
