-- Purpose: makes the tasks of a human step and lets them begin: each is a unit of the same machine with a person in charge
--   of its own; a task that names an operation is queued for workers; one whose condition is false is skipped.
-- Locks: the caller holds the run; run_detail for the next free number.
-- Idempotency: called once per step.
-- Raises: SW004 when the registry refuses; SW006 when there are too many.
create or replace function stepwell._tasks_open(p_tenant_id int, p_step_run_id bigint, p_tasks jsonb) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_count constant int := jsonb_array_length(p_tasks);
    v_machine constant text := stepwell._machine_of('task');
    v_step stepwell.work_unit;
    v_base bigint;
    v_made record;
begin
    if v_count > stepwell._limit('limits.tasks_per_step') then
        raise exception using errcode = 'SW006',
            message = format('step %s has %s tasks, at most %s', p_step_run_id, v_count, stepwell._limit('limits.tasks_per_step'));
    end if;
    update stepwell.run_detail as r set next_unit_no = r.next_unit_no + v_count
    where r.tenant_id = p_tenant_id and r.run_id = p_step_run_id >> 20
    returning r.next_unit_no - v_count into v_base;
    update stepwell.work_unit as u set has_contract = true
    where u.tenant_id = p_tenant_id and u.unit_id = p_step_run_id
    returning u.* into v_step;
    insert into stepwell.task_detail (tenant_id, unit_id, step_run_id, task_no, task_id, title, role, assignee, form)
    select p_tenant_id, ((p_step_run_id >> 20) << 20) | (v_base + t.no - 1), p_step_run_id, t.no, t.task ->> 'id',
        t.task ->> 'title', t.task ->> 'role', t.task ->> 'assignee', t.task -> 'form'
    from jsonb_array_elements(p_tasks) with ordinality as t (task, no);
    insert into stepwell.work_unit (
        tenant_id, unit_id, version_id, parent_id, operation_id, class_id, priority, max_attempts, mandatory, has_contract,
        pic_id, last_transition_at, scope, state_machine_id, state_code)
    select p_tenant_id, ((p_step_run_id >> 20) << 20) | (v_base + t.no - 1), v_step.version_id, p_step_run_id, o.operation_id,
        o.class_id, v_step.priority, coalesce(o.max_attempts, 1), false, t.task ? 'form',
        (select p.person_id from stepwell.person as p
            where p.tenant_id = p_tenant_id and p.person_name = t.task ->> 'assignee' and p.is_active),
        stepwell.now(), 'task', v_machine, 'not_started'
    from jsonb_array_elements(p_tasks) with ordinality as t (task, no)
    left join stepwell.operation as o on o.tenant_id = p_tenant_id and o.operation_name = t.task ->> 'operation'
    order by t.no;
    select
        array_agg(p_tenant_id) filter (where m.begins) as tenant_ids,
        array_agg(m.unit_id order by m.unit_id) filter (where m.begins) as unit_ids,
        array_agg(p_tenant_id) filter (where not m.begins) as skipped_tenant_ids,
        array_agg(m.unit_id order by m.unit_id) filter (where not m.begins) as skipped_ids
    into v_made
    from (
        select ((p_step_run_id >> 20) << 20) | (v_base + t.no - 1) as unit_id,
            not t.task ? 'when' or coalesce(jsonb_path_match(
                stepwell._unit_document(p_tenant_id, p_step_run_id), (t.task ->> 'when')::jsonpath, '{}', true), false) as begins
        from jsonb_array_elements(p_tasks) with ordinality as t (task, no)
    ) as m;
    perform stepwell._must_apply(v_made.skipped_tenant_ids, v_made.skipped_ids, 'skipped', 'mow_orchestrator',
        'condition_resolved', 'branch_not_taken', 'engine');
    perform stepwell._must_apply(v_made.tenant_ids, v_made.unit_ids, 'ready', 'mow_orchestrator', 'condition_resolved', null,
        'engine');
    perform stepwell._workers_wake(null);
end
$$;
