-- Purpose: waits whose time is up. A sub-workflow step takes its run along and fails for good; whatever else waits wakes
--   and is told that nothing came.
-- Locks: the caller holds the runs; the runs of sub-workflows are locked after them.
-- Idempotency: a step that no longer waits is passed over.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._waits_expire(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_waiting record;
    v_step record;
begin
    select array_agg(u.tenant_id order by u.unit_id) as tenant_ids, array_agg(u.unit_id order by u.unit_id) as unit_ids
    into v_waiting
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where u.state_code = 'waiting';
    if v_waiting.unit_ids is not null then
        perform stepwell._units_wake(v_waiting.tenant_ids, v_waiting.unit_ids, 'WAITING_TIMEOUT', null, null, null);
    end if;
    for v_step in
        select u.tenant_id, u.unit_id, d.timeout_seconds
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        where u.state_code in ('in_progress', 'overdue') and d.step_kind = 'subworkflow'
        order by u.unit_id
    loop
        -- One before it may have called it off.
        continue when not exists (select from stepwell.work_unit as u where u.tenant_id = v_step.tenant_id
            and u.unit_id = v_step.unit_id and u.state_code in ('in_progress', 'overdue'));
        perform stepwell._subruns_cancel(v_step.tenant_id, array[v_step.unit_id], 'engine', 'timeout');
        perform stepwell._units_fail(array[v_step.tenant_id], array[v_step.unit_id], array[jsonb_build_object(
            'failure_class', 'timeout', 'outcome', 'dead', 'error', jsonb_build_object('type', 'WaitingTimeout',
                'message', format('the run of the sub-workflow did not end within %s seconds', v_step.timeout_seconds)))],
            'mow_orchestrator');
        perform stepwell._runs_settle(array[v_step.tenant_id], array[v_step.unit_id]);
    end loop;
end
$$;
