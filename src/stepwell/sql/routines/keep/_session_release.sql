-- Purpose: gives back every unit a closed session still holds: expired leases count as a failed attempt, released
--   ones do not.
-- Locks: the caller holds the session; the runs, then the units.
-- Idempotency: only units still leased by this session are touched.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._session_release(p_session_id bigint, p_expired boolean) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_held record;
    v_error constant jsonb := '{"type": "LEASE_EXPIRED", "message": "the worker stopped answering while it held this"}';
begin
    select array_agg(x.tenant_id) as tenant_ids, array_agg(x.unit_id) as unit_ids
    into v_held
    from (
        select distinct q.tenant_id, q.unit_id
        from stepwell.worker_lease as l
        cross join lateral unnest(l.tenant_ids, l.unit_ids) as q (tenant_id, unit_id)
        where l.session_id = p_session_id
    ) as x;
    delete from stepwell.worker_lease as l where l.session_id = p_session_id;
    perform stepwell._stream_lock(v_held.tenant_ids, v_held.unit_ids);
    select
        array_agg(u.tenant_id order by u.unit_id) as tenant_ids, array_agg(u.unit_id order by u.unit_id) as unit_ids,
        array_agg(u.tenant_id order by u.unit_id) filter (where not h.exhausted) as back_tenant_ids,
        array_agg(u.unit_id order by u.unit_id) filter (where not h.exhausted) as back_ids,
        array_agg(u.tenant_id order by u.unit_id) filter (where h.exhausted) as dead_tenant_ids,
        array_agg(u.unit_id order by u.unit_id) filter (where h.exhausted) as dead_ids
    into v_held
    from unnest(v_held.tenant_ids, v_held.unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    cross join lateral (select p_expired and u.attempt_count + 1 >= u.max_attempts) as h (exhausted)
    where u.lease_session_id = p_session_id and u.state_code in ('in_progress', 'overdue');
    if v_held.unit_ids is null then
        return 0;
    end if;
    if p_expired then
        insert into stepwell.unit_failure (
            tenant_id, unit_id, lease_no, failure_class, classification, error, attempt_count, failed_at, next_eligible_at)
        select u.tenant_id, u.unit_id, u.lease_no, 'lease_expired', 'transient', v_error, u.attempt_count + 1, v_now, v_now
        from unnest(v_held.back_tenant_ids, v_held.back_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id;
        perform stepwell._must_apply(v_held.back_tenant_ids, v_held.back_ids, 'ready', 'system', 'timer', 'lease_expired',
            'keeper');
    else
        perform stepwell._must_apply(v_held.back_tenant_ids, v_held.back_ids, 'ready', 'executor_worker', 'rpc',
            'step_release', p_session_id => p_session_id);
    end if;
    perform stepwell._receipts_doubt(v_held.tenant_ids, v_held.unit_ids);
    perform stepwell._slots_free(v_held.tenant_ids, v_held.unit_ids);
    if v_held.back_ids is not null then
        perform stepwell._slots_take(v_held.back_tenant_ids, v_held.back_ids);
    end if;
    if v_held.dead_ids is not null then
        perform stepwell._units_fail(v_held.dead_tenant_ids, v_held.dead_ids,
            array_fill(jsonb_build_object('failure_class', 'lease_expired', 'error', v_error),
                array[cardinality(v_held.dead_ids)]), 'system');
        perform stepwell._runs_settle(v_held.dead_tenant_ids, v_held.dead_ids);
    end if;
    perform stepwell._rollups_lend(v_held.tenant_ids, array(select q >> 20 from unnest(v_held.unit_ids) as q));
    return cardinality(v_held.unit_ids);
end
$$;
