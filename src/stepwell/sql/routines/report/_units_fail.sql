-- Purpose: units whose attempt failed. The failure is classified from the registry; a transient one with attempts
--   left gets a retry timer (exponential backoff, full jitter, capped), any other ends as cannot_complete with a
--   dead letter, and what depends on it is aborted along the edges.
-- Locks: the caller holds the runs.
-- Idempotency: the caller has fenced each unit.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._units_fail(
    p_tenant_ids int[], p_unit_ids bigint[], p_bodies jsonb[], p_actor_class text, p_session_id bigint default null
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_dead record;
    v_payloads jsonb[];
begin
    select array_agg(jsonb_build_object('classification', f.classification, 'failure_class', f.failure_class,
        'attempt', f.attempt_count, 'error', f.error) order by f.ord) into v_payloads
    from stepwell._failures_judge(p_tenant_ids, p_unit_ids, p_bodies, v_now) as f;
    insert into stepwell.unit_failure (
        tenant_id, unit_id, lease_no, failure_class, classification, error, attempt_count, failed_at, next_eligible_at)
    select f.tenant_id, f.unit_id, f.lease_no, f.failure_class, f.classification, f.error, f.attempt_count, v_now,
        f.next_eligible_at
    from stepwell._failures_judge(p_tenant_ids, p_unit_ids, p_bodies, v_now) as f;
    perform stepwell._must_apply(p_tenant_ids, p_unit_ids, 'failed', p_actor_class, 'event', 'executor_failure',
        case when p_session_id is null then 'engine' end,
        case when p_session_id is null then
            array_fill('{"audit_ref": "engine"}'::jsonb, array[cardinality(p_unit_ids)]) end,
        v_payloads, p_session_id => p_session_id);
    insert into stepwell.timer (tenant_id, unit_id, timer_kind, due_at)
    select f.tenant_id, f.unit_id, 'retry', f.next_eligible_at
    from stepwell.unit_failure as f
    inner join unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        on f.tenant_id = q.tenant_id and f.unit_id = q.unit_id
    where f.failed_at = v_now and f.next_eligible_at is not null
    on conflict (tenant_id, unit_id, timer_kind) do update set due_at = excluded.due_at;
    select array_agg(f.tenant_id order by f.unit_id) as tenant_ids, array_agg(f.unit_id order by f.unit_id) as unit_ids
    into v_dead
    from stepwell.unit_failure as f
    inner join unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        on f.tenant_id = q.tenant_id and f.unit_id = q.unit_id
    where f.failed_at = v_now and f.next_eligible_at is null;
    if v_dead.unit_ids is not null then
        perform stepwell._units_bury(v_dead.tenant_ids, v_dead.unit_ids);
    end if;
end
$$;
