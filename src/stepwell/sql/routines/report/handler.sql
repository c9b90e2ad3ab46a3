-- What a handler may write while it runs and has its lease.

-- Stores the result of a named part of a handler's work, so that a later attempt does not repeat it.
-- Locks: the unit row (shared), so that it cannot lose its lease meanwhile.
-- Idempotency: the first value of a name stays and is returned.
-- Raises: SW005 when the session does not have the lease any more; SW006 over a limit.
create or replace function stepwell.fn_checkpoint_save(
    p_session_id bigint, p_tenant_id int, p_unit_id bigint, p_lease_no int, p_name text, p_value jsonb
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_value jsonb;
begin
    perform stepwell._lease_hold(p_session_id, p_tenant_id, p_unit_id, p_lease_no);
    if coalesce(length(p_name), 0) not between 1 and 200 then
        raise exception using errcode = 'SW006', message = 'checkpoint name: 1 to 200 characters are accepted';
    end if;
    perform stepwell._size_check('value', 'checkpoint ' || p_name, pg_column_size(p_value), 'limits.checkpoint_bytes');
    insert into stepwell.unit_checkpoint (tenant_id, unit_id, checkpoint_name, checkpoint_value, lease_no, saved_at)
    values (p_tenant_id, p_unit_id, p_name, coalesce(p_value, 'null'), p_lease_no, stepwell.now())
    on conflict (tenant_id, unit_id, checkpoint_name) do nothing
    returning checkpoint_value into v_value;
    if found then
        perform stepwell._event_append(p_tenant_id, p_unit_id, 'checkpoint.saved', 'session:' || p_session_id,
            jsonb_build_object('name', p_name), 'executor_worker');
        return v_value;
    end if;
    select c.checkpoint_value into v_value
    from stepwell.unit_checkpoint as c
    where c.tenant_id = p_tenant_id and c.unit_id = p_unit_id and c.checkpoint_name = p_name;
    return v_value;
end
$$;

-- Appends an event of a handler to the log while it has the lease.
-- Locks: the unit row (shared), so that it cannot lose its lease meanwhile.
-- Idempotency: none; a handler that may run twice emits inside ctx.step.
-- Raises: SW005 when the session does not have the lease any more; SW006 when the payload is too large.
create or replace function stepwell.fn_event_emit(
    p_session_id bigint, p_tenant_id int, p_unit_id bigint, p_lease_no int, p_type text, p_payload jsonb
) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._lease_hold(p_session_id, p_tenant_id, p_unit_id, p_lease_no);
    perform stepwell._size_check('payload', 'event ' || p_type, pg_column_size(p_payload), 'limits.payload_bytes');
    perform stepwell._event_append(p_tenant_id, p_unit_id, 'event.emitted', 'session:' || p_session_id,
        jsonb_build_object('type', p_type, 'payload', p_payload), 'executor_worker');
end
$$;
