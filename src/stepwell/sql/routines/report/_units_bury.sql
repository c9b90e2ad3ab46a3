-- Purpose: failed units that will not be tried again: escalated to cannot_complete, kept as dead letters, and their
--   dependents aborted along the edges.
-- Locks: the caller holds the runs.
-- Idempotency: the registry refuses a unit that is not failed.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._units_bury(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._must_apply(p_tenant_ids, p_unit_ids, 'cannot_complete', 'escalation_handler', 'rpc', 'escalate',
        'engine', array_fill('{"audit_ref": "engine", "classification": "permanent"}'::jsonb, array[cardinality(p_unit_ids)]));
    insert into stepwell.job_dead_letter (tenant_id, unit_id, died_at, failure_class, error, attempt_count)
    select u.tenant_id, u.unit_id, u.last_transition_at, f.failure_class, f.error, u.attempt_count
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    cross join lateral (
        select x.failure_class, x.error from stepwell.unit_failure as x
        where x.tenant_id = u.tenant_id and x.unit_id = u.unit_id
        order by x.failed_at desc, x.lease_no desc limit 1
    ) as f;
    perform stepwell._dependents_abort(p_tenant_ids, p_unit_ids);
end
$$;
