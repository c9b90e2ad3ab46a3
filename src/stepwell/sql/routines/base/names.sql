-- The names that people know units and persons by, for sentences and lists.

-- The number of a unit as people read and type it: 7.3, the third unit of run 7. A run and a job that stands on its own are
-- written without a place: 7. From a million on, that could be taken for the whole number of a unit, so the place is added.
create or replace function stepwell._unit_ref(p_unit_id bigint) returns text
language sql immutable parallel safe
set search_path = stepwell, pg_temp
as $$
    select stepwell._run_of(p_unit_id)::text || case when stepwell._unit_no(p_unit_id) <> 0 or p_unit_id >> 40 <> 0 then '.' || stepwell._unit_no(p_unit_id) else '' end
$$;

-- What a unit is called in a sentence: step 'review' of run 7, task 'photo' of step 'review' of run 7, job 12 (mail.send),
-- approval 7.3 (texts of the registry, title.*). A unit that does not exist is named by its number alone.
create or replace function stepwell._title_of(p_tenant_id int, p_unit_id bigint, p_lang text default 'en') returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce((
        select stepwell._text_fill('title.' || u.scope, p_lang, jsonb_build_object(
            'run', stepwell._run_of(u.unit_id), 'number', stepwell._unit_ref(u.unit_id), 'task', t.task_id,
            'step', d.step_id || coalesce('[' || s.item_no || ']', ''), 'operation', o.operation_name))
        from stepwell.work_unit as u
        left join stepwell.task_detail as t on u.scope = 'task' and u.tenant_id = t.tenant_id and u.unit_id = t.unit_id
        left join stepwell.work_unit as s on u.tenant_id = s.tenant_id and coalesce(t.step_run_id, u.unit_id) = s.unit_id
        left join stepwell.workflow_step_def as d
            on s.scope = 'step' and s.tenant_id = d.tenant_id and s.version_id = d.version_id and s.def_no = d.step_no
        left join stepwell.operation as o on u.scope = 'job' and u.tenant_id = o.tenant_id and u.operation_id = o.operation_id
        where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id), stepwell._unit_ref(p_unit_id))
$$;

-- The name of a unit where its run is known: the id of a step, the operation of a job, the title of all others.
create or replace function stepwell._unit_name(p_unit stepwell.work_unit) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce(case p_unit.scope
        when 'step' then (select d.step_id from stepwell.workflow_step_def as d
            where d.tenant_id = p_unit.tenant_id and d.version_id = p_unit.version_id and d.step_no = p_unit.def_no)
        when 'job' then (select o.operation_name from stepwell.operation as o
            where o.tenant_id = p_unit.tenant_id and o.operation_id = p_unit.operation_id)
    end, stepwell._title_of(p_unit.tenant_id, p_unit.unit_id))
$$;

-- The name of a person; null when no person is given.
create or replace function stepwell._person_name(p_tenant_id int, p_person_id bigint) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce((select p.person_name from stepwell.person as p
        where p.tenant_id = p_tenant_id and p.person_id = p_person_id), p_person_id::text)
$$;
