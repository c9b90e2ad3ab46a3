-- Purpose: runs that ended inside a sub-workflow step hand their result, or their failure, to that step.
-- Locks: the parent run, out of order (a parent is older than its child), so without waiting: when somebody else
--   holds it, the whole transaction gives up with 55P03 and is tried again.
-- Idempotency: a parent step that no longer waits is passed over.
-- Raises: SW004 when the registry refuses; 55P03 when the parent is busy (try again).
create or replace function stepwell._subruns_end(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_child record;
begin
    for v_child in
        select r.tenant_id, r.run_id, r.parent_unit_id, r.finished_state
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.run_detail as r on q.tenant_id = r.tenant_id and q.unit_id >> 20 = r.run_id
        where r.parent_unit_id is not null
        order by r.parent_unit_id
    loop
        perform 1 from stepwell.run_progress as p
        where p.tenant_id = v_child.tenant_id and p.run_id = v_child.parent_unit_id >> 20
        for update nowait;
        if exists (select from stepwell.work_unit as u
            where u.tenant_id = v_child.tenant_id and u.unit_id = v_child.parent_unit_id
                and u.state_code in ('in_progress', 'overdue')) then
            delete from stepwell.timer as t
            where t.tenant_id = v_child.tenant_id and t.unit_id = v_child.parent_unit_id and t.timer_kind = 'wait_timeout';
            if v_child.finished_state = 'completed' then
                perform stepwell._engine_complete(array[v_child.tenant_id], array[v_child.parent_unit_id],
                    array[stepwell._run_result(v_child.tenant_id, v_child.run_id)]);
            else
                perform stepwell._units_fail(array[v_child.tenant_id], array[v_child.parent_unit_id],
                    array[jsonb_build_object('failure_class', 'upstream_failed', 'outcome', 'dead', 'error',
                        jsonb_build_object('type', 'SubWorkflow', 'message',
                            format('run %s of the sub-workflow %s', v_child.run_id, v_child.finished_state),
                            'run_id', v_child.run_id))], 'mow_orchestrator');
            end if;
            perform stepwell._runs_settle(array[v_child.tenant_id], array[v_child.parent_unit_id]);
        end if;
    end loop;
end
$$;
