-- Purpose: human steps that became ready: who is named for them is in charge, the deadline and the chain of people to tell
--   begin to count, their tasks are made.
-- Locks: the caller holds the runs.
-- Idempotency: a step that was opened before keeps its deadline, its chain and its tasks.
-- Raises: SW004 when the registry refuses; SW006 when a step has too many tasks.
create or replace function stepwell._humans_open(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_human record;
    v_task record;
begin
    for v_human in
        select u.tenant_id, array_agg(u.unit_id order by u.unit_id) as unit_ids, bool_or(d.config ? 'tasks') as has_tasks
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        where u.state_code = 'ready' and d.step_kind = 'human'
        group by u.tenant_id
        order by u.tenant_id
    loop
        update stepwell.work_unit as u set
            pic_id = coalesce(u.pic_id, (select p.person_id from stepwell.person as p
                where p.tenant_id = u.tenant_id and p.person_name = d.config ->> 'assignee' and p.is_active)),
            deadline_at = coalesce(u.deadline_at, case when d.config ->> 'deadline_from' is distinct from 'start'
                then stepwell._deadline_of(u.tenant_id, d.config, u.last_transition_at) end)
        from stepwell.workflow_step_def as d
        where u.tenant_id = v_human.tenant_id and u.unit_id = any (v_human.unit_ids)
            and d.tenant_id = u.tenant_id and d.version_id = u.version_id and d.step_no = u.def_no;
        insert into stepwell.step_escalation (tenant_id, unit_id, level, tell, due_at)
        select u.tenant_id, u.unit_id, e.level, e.entry ->> 'tell',
            u.last_transition_at + make_interval(secs => (e.entry ->> 'after')::float8)
        from stepwell.work_unit as u
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        cross join lateral jsonb_array_elements(d.config -> 'escalation') with ordinality as e (entry, level)
        where u.tenant_id = v_human.tenant_id and u.unit_id = any (v_human.unit_ids)
            and jsonb_typeof(d.config -> 'escalation') = 'array'
        on conflict do nothing;
        perform stepwell._people_timers(v_human.tenant_id, v_human.unit_ids);
        if v_human.has_tasks then
            for v_task in
                select u.unit_id, d.config -> 'tasks' as tasks
                from stepwell.work_unit as u
                inner join stepwell.workflow_step_def as d
                    on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
                where u.tenant_id = v_human.tenant_id and u.unit_id = any (v_human.unit_ids) and d.config ? 'tasks'
                    and not exists (select from stepwell.task_detail as t
                        where t.tenant_id = u.tenant_id and t.step_run_id = u.unit_id)
                order by u.unit_id
            loop
                perform stepwell._tasks_open(v_human.tenant_id, v_task.unit_id, v_task.tasks);
            end loop;
        end if;
    end loop;
end
$$;
