-- The steps of one run, as a tree is drawn from them, and how a person names one of them.

-- The steps of a run in the order of the graph: state, branch and item, the run inside a sub-workflow step. With
-- p_with_reasons also why a step that has not ended does not run; a reason costs one call of fn_why_not_running each.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_run_steps_read(
    p_tenant_id int, p_run_id bigint, p_with_reasons boolean, p_limit int
) returns table (
    step_run_id bigint, step_no int, step_id text, step_kind text, scope_no int, item_no int, branch_no int,
    conditional_no int, parent_id bigint, state_code text, waiting_facet text, mandatory boolean, operation text,
    role text, attempt int, max_attempts int, lease_owner text, next_eligible_at timestamptz,
    deadline_at timestamptz, last_error jsonb, output jsonb, inputs jsonb, progress jsonb, started_at timestamptz, completed_at timestamptz,
    child_run_id bigint, why_code text, why_en text, why_vi text, who text
)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select
        s.step_run_id, s.step_no, s.step_id, s.step_kind, s.scope_no,
        (row_number() over (partition by s.step_no order by s.step_run_id) - 1)::int, s.branch_no, b.conditional_no,
        s.parent_id, s.state_code, s.waiting_facet, s.mandatory, s.operation, s.role, s.attempt, s.max_attempts,
        s.lease_owner, s.next_eligible_at, s.deadline_at, s.last_error, s.output, s.inputs, s.progress, s.started_at, s.completed_at,
        case when s.step_kind = 'subworkflow' then (
            select max(stepwell._run_of(c.unit_id)) from stepwell.work_unit as c
            where c.tenant_id = s.tenant_id and c.parent_id = s.step_run_id and c.scope = 'workflow_run'
        ) end,
        w.code, w.sentence_en, w.sentence_vi, w.who
    from stepwell.step_run as s
    left join stepwell.workflow_branch as b
        on s.tenant_id = b.tenant_id and s.version_id = b.version_id and s.branch_no = b.branch_no
    left join lateral stepwell.fn_why_not_running(s.step_run_id, s.tenant_id) as w
        on p_with_reasons and not stepwell._has_ended(s.state_code)
    where s.tenant_id = p_tenant_id
        and s.step_run_id between stepwell._run_unit(p_run_id) + 1 and stepwell._run_last(p_run_id)
    order by s.step_run_id limit p_limit
$$;

-- The unit of a step by its id, of one item of a map when p_item_no is given, of a task inside it when p_task_id is.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing; null when there is no such step or task.
create or replace function stepwell.fn_step_find(
    p_tenant_id int, p_run_id bigint, p_step_id text, p_task_id text, p_item_no int
) returns bigint
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce(t.unit_id, u.unit_id)
    from stepwell.work_unit as u
    inner join stepwell.workflow_step_def as d
        on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    left join stepwell.task_detail as t
        on u.tenant_id = t.tenant_id and u.unit_id = t.step_run_id and t.task_id = p_task_id
    where u.tenant_id = p_tenant_id and u.scope = 'step' and d.step_id = p_step_id
        and u.unit_id between stepwell._run_unit(p_run_id) + 1 and stepwell._run_last(p_run_id)
        and (p_task_id is null or t.unit_id is not null) and (p_item_no is null or u.item_no = p_item_no)
    order by u.unit_id limit 1
$$;
