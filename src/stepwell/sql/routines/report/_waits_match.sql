-- Purpose: brings kept events and waiting units of one run and type together, first to first, each event once.
-- Locks: the caller holds the run.
-- Idempotency: an event taken stays taken.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._waits_match(p_tenant_id int, p_stream_id bigint, p_event_type text) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_woken record;
begin
    with waits as (
        select w.unit_id, row_number() over (order by w.since_at, w.unit_id) as place
        from stepwell.event_wait as w
        where w.tenant_id = p_tenant_id and w.stream_id = p_stream_id and w.event_type = p_event_type
    ), events as (
        select i.event_key, i.payload, row_number() over (order by i.received_at, i.event_key) as place
        from stepwell.event_inbox as i
        where i.tenant_id = p_tenant_id and i.stream_id = p_stream_id and i.event_type = p_event_type
            and i.taken_by is null
    ), pair as (
        select w.unit_id, e.event_key, e.payload from waits as w inner join events as e on w.place = e.place
    ), taken as (
        update stepwell.event_inbox as i set taken_by = p.unit_id
        from pair as p
        where i.tenant_id = p_tenant_id and i.event_key = p.event_key
    )
    select array_agg(p.unit_id order by p.unit_id) as unit_ids, array_agg(p.event_key order by p.unit_id) as event_keys,
        array_agg(p.payload order by p.unit_id) as payloads, array_agg(p_tenant_id) as tenant_ids
    into v_woken
    from pair as p;
    if v_woken.unit_ids is not null then
        perform stepwell._units_wake(v_woken.tenant_ids, v_woken.unit_ids, 'RESUMED', p_event_type, v_woken.payloads,
            v_woken.event_keys);
    end if;
end
$$;
