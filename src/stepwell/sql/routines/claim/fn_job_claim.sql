-- Purpose: leases up to n claimable units of the session's classes to it and hands back what a handler needs.
--   Tenants take turns by weight; inside a tenant priority decides, then age.
-- Locks: the job_ready rows it takes (skip locked, so two claims never wait for each other), then their units.
-- Idempotency: none; a claim lost on the way is recovered when the session ends.
-- Raises: SW005 when the session has ended.
create or replace function stepwell.fn_job_claim(p_session_id bigint, p_limit int)
returns setof stepwell.job_lease
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set random_page_cost = 0.01
as $$
declare
    v_class_ids int[];
    v_was_idle boolean;
    v_fresh record;
    v_batch_id bigint;
begin
    select s.class_ids, s.is_idle into v_class_ids, v_was_idle
    from stepwell.worker_session as s
    where s.session_id = p_session_id and s.closed_at is null and s.expires_at >= stepwell.now();
    if not found then
        raise exception using errcode = 'SW005',
            message = format('worker session %s has ended; open a new one', p_session_id);
    end if;
    with taken as (
        select t.tenant_id, t.unit_id
        from stepwell._ready_take(v_class_ids, least(p_limit, stepwell._limit('limits.claim_batch'))) as t
    ), known as (
        select t.tenant_id, t.unit_id, u.state_code = 'failed' as is_retry
        from taken as t
        inner join stepwell.work_unit as u on t.tenant_id = u.tenant_id and t.unit_id = u.unit_id
    )
    select
        array_agg(k.tenant_id order by k.unit_id) filter (where not k.is_retry) as tenant_ids,
        array_agg(k.unit_id order by k.unit_id) filter (where not k.is_retry) as unit_ids,
        array_agg(k.tenant_id order by k.unit_id) filter (where k.is_retry) as retry_tenant_ids,
        array_agg(k.unit_id order by k.unit_id) filter (where k.is_retry) as retry_unit_ids
    into v_fresh
    from known as k;
    if v_fresh.unit_ids is null and v_fresh.retry_unit_ids is null then
        if not v_was_idle then
            update stepwell.worker_session as s set is_idle = true where s.session_id = p_session_id;
        end if;
        return;
    end if;
    if v_was_idle then
        update stepwell.worker_session as s set is_idle = false where s.session_id = p_session_id;
    end if;
    perform stepwell._must_apply(v_fresh.tenant_ids, v_fresh.unit_ids, 'in_progress', 'executor_worker',
        'rpc', 'step_claim', p_session_id => p_session_id);
    perform stepwell._must_apply(v_fresh.retry_tenant_ids, v_fresh.retry_unit_ids, 'in_progress', 'executor_worker',
        'event', 'retry_attempt', p_session_id => p_session_id);
    insert into stepwell.worker_lease (session_id, tenant_ids, unit_ids)
    values (p_session_id, v_fresh.tenant_ids || v_fresh.retry_tenant_ids, v_fresh.unit_ids || v_fresh.retry_unit_ids)
    returning batch_id into v_batch_id;
    return query
    select l.* from stepwell._leases_read(v_batch_id, v_fresh.tenant_ids || v_fresh.retry_tenant_ids,
        v_fresh.unit_ids || v_fresh.retry_unit_ids) as l;
end
$$;
