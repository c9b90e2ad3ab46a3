-- What a worker asks about its own session.

-- The leases that a session holds by claims after a batch: for a worker that lost the answer to a claim.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_worker_leases_read(p_session_key bigint, p_batch_id bigint)
returns table (tenant_id int, unit_id bigint, lease_no int)
language sql stable security definer
set search_path = stepwell, pg_temp
as $$
    select distinct u.tenant_id, u.unit_id, u.lease_no
    from stepwell.worker_session as s
    inner join stepwell.worker_lease as l on s.session_id = l.session_id
    cross join lateral unnest(l.tenant_ids, l.unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where s.session_key_hash = sha256(int8send(p_session_key)) and l.batch_id > p_batch_id and u.lease_session_id = l.session_id
$$;
