-- Purpose: the runs of sub-workflow steps that were cancelled or aborted go with them, to any depth.
-- Locks: the caller holds the run; each child run is locked before it is cleared.
-- Idempotency: child runs that have ended are passed over.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._subruns_cancel(p_tenant_id int, p_unit_ids bigint[], p_actor text, p_reason text)
returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_child record;
begin
    for v_child in
        select u.unit_id >> 20 as run_id
        from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.scope = 'workflow_run' and u.parent_id = any (coalesce(p_unit_ids, '{}'))
            and u.state_code not in ('completed', 'cancelled', 'failed')
        order by u.unit_id
    loop
        perform stepwell._runs_lock(array[p_tenant_id], array[v_child.run_id << 20]);
        perform stepwell._must_apply(array[p_tenant_id], array[v_child.run_id << 20], 'cancelled', 'system', 'rpc',
            'workflow_cancel', p_actor);
        perform stepwell._run_clear(p_tenant_id, v_child.run_id, p_actor, p_reason);
    end loop;
end
$$;
