-- Purpose: an event from outside for a run (or a free-standing job). Accepted once per event key; wakes the unit that
--   waits for its type, or is kept until one does.
-- Locks: the run.
-- Idempotency: by (tenant, event key): the second delivery changes nothing and says so.
-- Raises: SW001 for bad input; SW002 when there is no such run; SW003 when it has ended; SW007 for another tenant.
create or replace function stepwell.fn_signal(
    p_tenant_id int, p_stream_id bigint, p_event_type text, p_payload jsonb, p_event_key text, p_actor text default 'client'
) returns table (accepted boolean, woken_unit_id bigint)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set random_page_cost = 0.01
set join_collapse_limit = 1
set jit = off
as $$
#variable_conflict use_column
declare
    v_root stepwell.work_unit;
begin
    perform stepwell._tenant_bound(p_tenant_id);
    if coalesce(length(p_event_type), 0) not between 1 and 200 or coalesce(length(p_event_key), 0) not between 1 and 500 then
        raise exception using errcode = 'SW001', message = 'event_type: 1 to 200 characters; event_key: 1 to 500 characters';
    end if;
    if pg_column_size(p_payload) > stepwell._limit('limits.payload_bytes') then
        raise exception using errcode = 'SW006', message = 'payload: larger than the limit';
    end if;
    perform stepwell._stream_lock(array[p_tenant_id], array[p_stream_id << 20]);
    select u.* into v_root from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_stream_id << 20;
    if not found then
        raise exception using errcode = 'SW002', message = format('run %s does not exist', p_stream_id);
    end if;
    if exists (select from stepwell.event_inbox as i where i.tenant_id = p_tenant_id and i.event_key = p_event_key) then
        return query select false, i.taken_by from stepwell.event_inbox as i
            where i.tenant_id = p_tenant_id and i.event_key = p_event_key;
        return;
    end if;
    if v_root.state_code in ('completed', 'cancelled', 'cannot_complete')
        or v_root.state_code = 'failed' and v_root.scope = 'workflow_run' then
        raise exception using errcode = 'SW003', message = format('run %s has ended (%s)', p_stream_id, v_root.state_code);
    end if;
    insert into stepwell.event_inbox (tenant_id, event_key, stream_id, event_type, payload, received_at)
    values (p_tenant_id, p_event_key, p_stream_id, p_event_type, coalesce(p_payload, '{}'), stepwell.now());
    perform stepwell._event_append(p_tenant_id, p_stream_id << 20, 'signal.received', p_actor,
        jsonb_build_object('signal_type', p_event_type, 'event_key', p_event_key));
    perform stepwell._waits_match(p_tenant_id, p_stream_id, p_event_type);
    perform stepwell._workers_wake(null);
    return query select true, i.taken_by from stepwell.event_inbox as i
        where i.tenant_id = p_tenant_id and i.event_key = p_event_key;
end
$$;
