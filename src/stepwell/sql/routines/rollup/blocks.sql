-- How severe a blocked step is, and how the colour of its run follows.

-- How a blocked step is shown: red when it is blocked for longer than its workflow class allows, is on the critical
-- path, is past its deadline, or was escalated by hand; otherwise yellow_dark. Null when it is not blocked.
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
            or exists (select from stepwell.fn_run_critical_path(u.tenant_id, stepwell._run_of(u.unit_id)) as c
                where c.unit_id = case u.scope when 'task' then u.parent_id else u.unit_id end) then 'red'
        else 'yellow_dark' end
    from stepwell.work_unit as u
    left join stepwell.step_block as b on u.tenant_id = b.tenant_id and u.unit_id = b.unit_id
    where u.tenant_id = p_tenant_id and u.unit_id = p_step_run_id and u.state_code = 'blocked'
$$;

-- Counts the blocked steps of a run by their severity, where the policy blocked_escalation_treats_as_red says so: a
-- step that turned red moves from the waiting to the red ones, and back.
-- Locks: the caller holds the run.
create or replace function stepwell._blocks_weigh(p_tenant_id int, p_run_id bigint) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_treats_as_red constant boolean := coalesce((
        select bool_or((p.policy_config_jsonb ->> 'blocked_escalation_treats_as_red')::boolean)
        from stepwell.rollup_policy_def as p where p.active), false);
    v_moved int;
begin
    with changed as (
        update stepwell.work_unit as u set blocked_escalated = not u.blocked_escalated
        where u.tenant_id = p_tenant_id and u.unit_id between stepwell._run_unit(p_run_id) + 1 and stepwell._run_unit(p_run_id + 1) - 1
            and u.state_code = 'blocked' and u.blocked_escalated
                <> (v_treats_as_red and stepwell.fn_step_blocked_severity(u.unit_id, u.tenant_id) = 'red')
        returning u.blocked_escalated, u.mandatory and u.scope = 'step' as counts
    )
    select (count(*) filter (where c.blocked_escalated) - count(*) filter (where not c.blocked_escalated))::int into v_moved
    from changed as c
    where c.counts;
    if v_moved <> 0 then
        update stepwell.run_progress as p set
            red_count = p.red_count + v_moved, wait_count = p.wait_count - v_moved, last_rollup_at = stepwell.now(),
            rollup_state_code = case when p.frozen_at is not null then p.rollup_state_code else
                stepwell._rollup_colour(p.red_count + v_moved, p.wait_count - v_moved, p.active_count) end
        where p.tenant_id = p_tenant_id and p.run_id = p_run_id;
        perform stepwell._subrun_colours_show(array[p_tenant_id], array[p_run_id]);
    end if;
end
$$;
