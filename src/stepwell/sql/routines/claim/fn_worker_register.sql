-- Purpose: opens a worker's session, on which all its leases hang.
-- Locks: none.
-- Idempotency: each call opens a session of its own.
-- Raises: SW001 when a class is not registered or a number is out of range.
create or replace function stepwell.fn_worker_register(
    p_worker_name text, p_class_names text[], p_slot_count int, p_lease_seconds int default 30, p_info jsonb default '{}'
) returns bigint
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_class_ids int[];
    v_session_id bigint;
begin
    select array_agg(c.class_id) into v_class_ids
    from stepwell.executor_class as c
    where c.class_name = any (p_class_names);
    if coalesce(cardinality(v_class_ids), 0) <> coalesce(cardinality(p_class_names), -1) then
        raise exception using errcode = 'SW001', message = format('classes: %s; registered are %s',
            array_to_string(p_class_names, ', '),
            (select string_agg(c.class_name, ', ' order by c.class_name) from stepwell.executor_class as c));
    end if;
    if p_slot_count not between 1 and 10000 or p_lease_seconds not between 1 and 86400 then
        raise exception using errcode = 'SW001',
            message = 'slots: must be 1 to 10000; lease_seconds: must be 1 to 86400';
    end if;
    insert into stepwell.worker_session (
        worker_name, class_ids, slot_count, lease_seconds, started_at, last_tick_at, expires_at, info)
    values (p_worker_name, v_class_ids, p_slot_count, p_lease_seconds, v_now, v_now,
        v_now + make_interval(secs => p_lease_seconds), p_info)
    returning session_id into v_session_id;
    return v_session_id;
end
$$;
