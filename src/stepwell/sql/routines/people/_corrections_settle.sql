-- Purpose: corrections of a run that have moved on: a reopened step whose predecessors have been corrected goes on; one
--   whose predecessor was given up is called off; a cycle whose step has ended again is closed.
-- Locks: the caller holds the run.
-- Idempotency: yes.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._corrections_settle(p_tenant_id int, p_run_id bigint) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_next record;
    v_count int;
begin
    loop
        v_count := 0;
        for v_next in
            select u.unit_id, u.class_id, u.pic_id, bool_or(b.state_code in ('cannot_complete', 'cancelled')) as is_lost,
                max(c.root_unit_id) as root_unit_id
            from stepwell.step_run_correction_cycle as c
            inner join stepwell.work_unit as u on c.tenant_id = u.tenant_id and c.unit_id = u.unit_id
            cross join lateral unnest(c.waits_for) as x (unit_id)
            inner join stepwell.work_unit as b on b.tenant_id = c.tenant_id and b.unit_id = x.unit_id
            where c.tenant_id = p_tenant_id and c.unit_id between (p_run_id << 20) + 1 and ((p_run_id + 1) << 20) - 1
                and c.closed_at is null and u.state_code = 'waiting' and u.waiting_facet = 'waiting_dependency'
            group by u.unit_id, u.class_id, u.pic_id
            having bool_and(b.state_code in ('completed', 'skipped')) or bool_or(b.state_code in ('cannot_complete', 'cancelled'))
            order by u.unit_id
        loop
            v_count := v_count + 1;
            if v_next.is_lost then
                perform stepwell._must_apply(array[p_tenant_id], array[v_next.unit_id], 'cancelled', 'mow_orchestrator',
                    'condition_resolved', 'upstream_failed', 'engine', null, array['{"reason": "upstream_failed"}'::jsonb]);
                perform stepwell._dependents_abort(array[p_tenant_id], array[v_next.unit_id]);
            else
                perform stepwell._units_wake(array[p_tenant_id], array[v_next.unit_id], 'RESUMED', 'correction', null,
                    array['correction:' || v_next.root_unit_id]);
            end if;
        end loop;
        exit when v_count = 0;
    end loop;
    update stepwell.step_run_correction_cycle as c set closed_state = u.state_code, closed_at = u.last_transition_at
    from stepwell.work_unit as u
    where c.tenant_id = p_tenant_id and c.unit_id between (p_run_id << 20) + 1 and ((p_run_id + 1) << 20) - 1
        and c.closed_at is null and u.tenant_id = c.tenant_id and u.unit_id = c.unit_id
        and u.state_code in ('completed', 'cannot_complete', 'cancelled');
end
$$;
