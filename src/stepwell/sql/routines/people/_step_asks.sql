-- Purpose: what a human step or a task asks: who may take it, what is answered, by when, whom to tell.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing; no row for a unit that is no person's work.
create or replace function stepwell._step_asks(p_unit stepwell.work_unit)
returns table (step_kind text, role text, assignee text, form jsonb, config jsonb, name text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select d.step_kind, d.config ->> 'role', d.config ->> 'assignee', d.config -> 'form', d.config, d.step_id
    from stepwell.workflow_step_def as d
    where p_unit.scope = 'step' and d.tenant_id = p_unit.tenant_id and d.version_id = p_unit.version_id
        and d.step_no = p_unit.def_no
    union all
    select 'task', t.role, t.assignee, t.form, '{}', t.task_id
    from stepwell.task_detail as t
    where p_unit.scope = 'task' and t.tenant_id = p_unit.tenant_id and t.unit_id = p_unit.unit_id
$$;
