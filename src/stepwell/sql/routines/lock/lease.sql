-- The lease of a handler that asks or writes while it runs, and the session that has it.

-- The number of the session with this key, open or ended; null when there is none.
create or replace function stepwell._session_id_of(p_session_key bigint) returns bigint
language sql stable
set search_path = stepwell, pg_temp
as $$
    select s.session_id from stepwell.worker_session as s where s.session_key_hash = sha256(int8send(p_session_key))
$$;

-- Checks that the session with this key has this lease, and keeps it so until the transaction ends. Returns the number of the
-- session.
-- Locks: the unit row, shared.
-- Raises: SW005 when the session does not have the lease any more.
create or replace function stepwell._lease_hold(
    p_session_key bigint, p_tenant_id int, p_unit_id bigint, p_lease_no int
) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_session_id bigint;
begin
    select s.session_id into v_session_id
    from stepwell.work_unit as u
    inner join stepwell.worker_session as s on u.lease_session_id = s.session_id
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id and u.lease_no = p_lease_no
        and s.session_key_hash = sha256(int8send(p_session_key)) and s.closed_at is null and s.expires_at >= stepwell.now()
    for share of u;
    if not found then
        perform stepwell._lease_lost(p_tenant_id, p_unit_id);
    end if;
    return v_session_id;
end
$$;

-- Says that a session does not have a lease any more.
-- Raises: SW005, always.
create or replace function stepwell._lease_lost(p_tenant_id int, p_unit_id bigint) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    raise exception using errcode = 'SW005', message = format('this worker does not have the lease of %s any more',
        stepwell._title_of(p_tenant_id, p_unit_id));
end
$$;
