-- How severe a blocked step is.

-- How a blocked step is shown: red when it is blocked for longer than its workflow class allows, is on the critical
-- path, is past its deadline, or was escalated by hand; otherwise yellow_dark. Null when it is not blocked. Of a step that
-- is blocked by its sub-workflow the critical path does not count: the sub-workflow itself is red where it does.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_step_blocked_severity(p_step_run_id bigint, p_tenant_id int default 1) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select case
        when b.escalated_at is not null or u.deadline_at <= stepwell.now()
            or coalesce(b.blocked_at, u.last_transition_at) + make_interval(
                secs => stepwell._class_limit(u.tenant_id, u.unit_id, 'block_severity.threshold_seconds')::float8)
                <= stepwell.now()
            or b.block_reason is distinct from 'subworkflow_waiting' and exists (select from stepwell._critical_path(u.tenant_id, stepwell._run_of(u.unit_id)) as c
                where c.unit_id = case u.scope when 'task' then u.parent_id else u.unit_id end) then 'red'
        else 'yellow_dark' end
    from stepwell.work_unit as u
    left join stepwell.step_block as b on u.tenant_id = b.tenant_id and u.unit_id = b.unit_id
    where u.tenant_id = p_tenant_id and u.unit_id = p_step_run_id and u.state_code = 'blocked'
$$;
