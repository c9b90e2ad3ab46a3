-- Purpose: ends the waiting of units: a handler's unit becomes ready again and is told why; a Wait node completes with
--   the event's payload, or fails when its time is up; people go on with what is theirs.
-- Locks: the caller holds the runs.
-- Idempotency: a unit that no longer waits is refused by the registry.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._units_wake(
    p_tenant_ids int[], p_unit_ids bigint[], p_task_type text, p_event_type text, p_payloads jsonb[], p_refs text[]
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_part record;
begin
    perform stepwell._people_wake(p_tenant_ids, p_unit_ids, p_task_type, p_refs);
    delete from stepwell.event_wait as w
    using unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    where w.tenant_id = q.tenant_id and w.unit_id = q.unit_id;
    delete from stepwell.timer as t
    using unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    where t.tenant_id = q.tenant_id and t.unit_id = q.unit_id and t.timer_kind in ('wait_timeout', 'sleep');
    select
        array_agg(q.tenant_id order by q.unit_id) filter (where u.class_id is not null) as tenant_ids,
        array_agg(q.unit_id order by q.unit_id) filter (where u.class_id is not null) as unit_ids,
        array_agg(jsonb_build_object('resolution_ref', coalesce(q.ref, p_task_type)) order by q.unit_id)
            filter (where u.class_id is not null) as evidence,
        array_agg(q.payload order by q.unit_id) filter (where u.class_id is not null) as payloads,
        array_agg(q.tenant_id order by q.unit_id) filter (where u.class_id is null) as node_tenant_ids,
        array_agg(q.unit_id order by q.unit_id) filter (where u.class_id is null) as node_ids,
        array_agg(q.payload order by q.unit_id) filter (where u.class_id is null) as node_payloads
    into v_part
    from unnest(p_tenant_ids, p_unit_ids, p_payloads, p_refs) as q (tenant_id, unit_id, payload, ref)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where u.pic_id is null;
    if v_part.unit_ids is not null then
        insert into stepwell.unit_wake (tenant_id, unit_id, task_type, event_type, payload, woken_at)
        select q.tenant_id, q.unit_id, p_task_type, p_event_type, q.payload, v_now
        from unnest(v_part.tenant_ids, v_part.unit_ids, v_part.payloads) as q (tenant_id, unit_id, payload)
        on conflict (tenant_id, unit_id) do update set task_type = excluded.task_type,
            event_type = excluded.event_type, payload = excluded.payload, woken_at = excluded.woken_at;
        perform stepwell._must_apply(v_part.tenant_ids, v_part.unit_ids, 'ready', 'system', 'event', null, 'engine',
            v_part.evidence);
        perform stepwell._slots_take(v_part.tenant_ids, v_part.unit_ids);
    end if;
    if v_part.node_ids is not null and p_task_type = 'WAITING_TIMEOUT' then
        perform stepwell._units_fail(v_part.node_tenant_ids, v_part.node_ids,
            array_fill('{"failure_class": "waiting_timeout", "error": {"type": "WaitingTimeout",
                "message": "nothing came before the time was up"}}'::jsonb, array[cardinality(v_part.node_ids)]), 'system');
    elsif v_part.node_ids is not null then
        perform stepwell._engine_complete(v_part.node_tenant_ids, v_part.node_ids, v_part.node_payloads, true);
    end if;
    perform stepwell._runs_settle(p_tenant_ids, p_unit_ids);
end
$$;
