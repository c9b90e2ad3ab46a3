-- The names that people know units and persons by, for sentences and lists.

-- The name of a unit: the id of a step, the operation of a job, the number of a run.
create or replace function stepwell._unit_name(p_unit stepwell.work_unit) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select case p_unit.scope
        when 'workflow_run' then 'run ' || (stepwell._run_of(p_unit.unit_id))
        when 'step' then coalesce((
            select d.step_id from stepwell.workflow_step_def as d
            where d.tenant_id = p_unit.tenant_id and d.version_id = p_unit.version_id and d.step_no = p_unit.def_no
        ), 'step ' || p_unit.unit_id)
        when 'job' then coalesce((
            select o.operation_name from stepwell.operation as o
            where o.tenant_id = p_unit.tenant_id and o.operation_id = p_unit.operation_id
        ), 'job ' || p_unit.unit_id)
        else p_unit.scope || ' ' || p_unit.unit_id
    end
$$;

-- The name of a person; null when no person is given.
create or replace function stepwell._person_name(p_tenant_id int, p_person_id bigint) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce((select p.person_name from stepwell.person as p
        where p.tenant_id = p_tenant_id and p.person_id = p_person_id), p_person_id::text)
$$;
