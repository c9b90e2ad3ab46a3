-- Purpose: the claim itself. Tenants take turns by weight; inside a tenant priority decides, then age. Units that the
--   report of the same call handed on count first; when that report saw an empty queue (p_is_dry), it is not asked again.
-- Locks: the job_ready rows it takes (skip locked, so two claims never wait for each other), for retries their runs
--   (without waiting), then the units.
-- Idempotency: none.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._claim(
    p_session_id bigint, p_class_ids int[], p_is_idle boolean, p_limit int, p_now timestamptz,
    p_tenant_id int default null, p_handed_ids bigint[] default null, p_is_dry boolean default false
)
returns setof stepwell.job_lease
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_handed_count constant int := coalesce(cardinality(p_handed_ids), 0);
    v_fresh record;
    v_tenant_ids int[];
    v_unit_ids bigint[];
    v_batch_id bigint;
    v_is_idle boolean;
begin
    select
        array_agg(t.tenant_id order by t.unit_id) filter (where not t.is_retry) as tenant_ids,
        array_agg(t.unit_id order by t.unit_id) filter (where not t.is_retry) as unit_ids,
        array_agg(t.tenant_id order by t.unit_id) filter (where t.is_retry) as retry_tenant_ids,
        array_agg(t.unit_id order by t.unit_id) filter (where t.is_retry) as retry_unit_ids
    into v_fresh
    from stepwell._ready_take(p_class_ids, least(p_limit, 1000) - v_handed_count) as t
    where not p_is_dry and p_limit > v_handed_count;
    v_unit_ids := p_handed_ids || v_fresh.unit_ids || v_fresh.retry_unit_ids;
    v_is_idle := coalesce(cardinality(v_unit_ids), 0) < p_limit;
    if v_is_idle <> p_is_idle then
        -- Idle: it could take more. A worker asks once more after this has changed, since what was made ready in between
        -- was made by somebody who did not yet see it.
        -- Only a hint, so never waited for: whoever recovers this session holds its row and wants the runs we hold.
        update stepwell.worker_session as s set is_idle = v_is_idle
        where s.session_id = (select x.session_id from stepwell.worker_session as x
            where x.session_id = p_session_id for no key update skip locked);
    end if;
    if v_unit_ids is null or v_unit_ids = '{}' then
        return;
    end if;
    perform stepwell._must_apply(v_fresh.tenant_ids, v_fresh.unit_ids, 'in_progress', 'executor_worker',
        'rpc', 'step_claim', p_session_id => p_session_id, p_now => p_now);
    if v_fresh.retry_unit_ids is not null then
        perform stepwell._must_apply(v_fresh.retry_tenant_ids, v_fresh.retry_unit_ids, 'in_progress', 'executor_worker',
            'event', 'retry_attempt', p_session_id => p_session_id, p_now => p_now);
        perform stepwell._rollups_lend(v_fresh.retry_tenant_ids, array(select q >> 20 from unnest(v_fresh.retry_unit_ids) as q));
    end if;
    if v_fresh.unit_ids is not null or v_fresh.retry_unit_ids is not null then
        perform stepwell._tenant_leases_note(v_fresh.tenant_ids || v_fresh.retry_tenant_ids,
            v_fresh.unit_ids || v_fresh.retry_unit_ids);
    end if;
    v_tenant_ids := array_fill(p_tenant_id, array[v_handed_count]) || v_fresh.tenant_ids || v_fresh.retry_tenant_ids;
    insert into stepwell.worker_lease (session_id, tenant_ids, unit_ids)
    values (p_session_id, v_tenant_ids, v_unit_ids)
    returning batch_id into v_batch_id;
    return query select l.* from stepwell._leases_read(v_batch_id, v_tenant_ids, v_unit_ids) as l;
end
$$;
