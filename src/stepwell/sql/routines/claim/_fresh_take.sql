-- Purpose: takes units out of the queue and leases them to a session: those that start, and those that try again.
-- Locks: the job_ready rows it takes (skip locked, so two claims never wait for each other), for retries their runs
--   (without waiting), then the units.
-- Idempotency: none.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._fresh_take(
    p_session_id bigint, p_class_ids int[], p_limit int, p_now timestamptz, out tenant_ids int[], out unit_ids bigint[]
)
language plpgsql volatile
as $$
declare
    v_taken record;
begin
    if not exists (select from stepwell.job_ready) then
        -- Most calls of an idle system.
        return;
    end if;
    select
        array_agg(t.tenant_id order by t.unit_id) filter (where not t.is_retry) as tenant_ids,
        array_agg(t.unit_id order by t.unit_id) filter (where not t.is_retry) as unit_ids,
        array_agg(t.tenant_id order by t.unit_id) filter (where t.is_retry) as retry_tenant_ids,
        array_agg(t.unit_id order by t.unit_id) filter (where t.is_retry) as retry_unit_ids
    into v_taken
    from stepwell._ready_take(p_class_ids, p_limit) as t;
    tenant_ids := v_taken.tenant_ids || v_taken.retry_tenant_ids;
    unit_ids := v_taken.unit_ids || v_taken.retry_unit_ids;
    if unit_ids is null then
        return;
    end if;
    perform stepwell._must_apply(v_taken.tenant_ids, v_taken.unit_ids, 'in_progress', 'executor_worker',
        'rpc', 'step_claim', p_session_id => p_session_id, p_now => p_now);
    if v_taken.retry_unit_ids is not null then
        perform stepwell._must_apply(v_taken.retry_tenant_ids, v_taken.retry_unit_ids, 'in_progress', 'executor_worker',
            'event', 'retry_attempt', p_session_id => p_session_id, p_now => p_now);
        perform stepwell._rollups_lend(v_taken.retry_tenant_ids, array(select q >> 20 from unnest(v_taken.retry_unit_ids) as q));
    end if;
    perform stepwell._tenant_leases_note(tenant_ids, unit_ids);
end
$$;
