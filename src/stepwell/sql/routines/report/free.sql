-- Reports that wait for nobody: what is locked elsewhere is left for later, the others are taken.

-- Accepts the outcomes of a batch, as fn_job_report, without those whose runs, or the runs above, are locked by another
-- transaction: each of these is returned as a row of kind `busy`, and its worker sends it again later. Claims nothing.
-- Locks: as _units_lock_free, then as fn_job_report.
-- Idempotency: as fn_job_report.
-- Raises: as fn_job_report.
create or replace function stepwell.fn_job_report_free(
    p_session_key bigint, p_tenant_ids int[], p_unit_ids bigint[], p_lease_nos int[], p_outcomes text[], p_bodies text[]
) returns setof stepwell.job_lease
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_free constant record := stepwell._units_lock_free(p_tenant_ids, p_unit_ids);
    v_part record;
begin
    select array_agg(q.tenant_id order by q.unit_id) as tenant_ids, array_agg(q.unit_id order by q.unit_id) as unit_ids,
        array_agg(q.lease_no order by q.unit_id) as lease_nos, array_agg(q.outcome order by q.unit_id) as outcomes,
        array_agg(q.body order by q.unit_id) as bodies
    into v_part
    from unnest(p_tenant_ids, p_unit_ids, p_lease_nos, p_outcomes, p_bodies)
        as q (tenant_id, unit_id, lease_no, outcome, body)
    where q.unit_id = any (v_free.unit_ids);
    if v_part.unit_ids is not null then
        return query
        select r.* from stepwell.fn_job_report(p_session_key, v_part.tenant_ids, v_part.unit_ids, v_part.lease_nos,
            v_part.outcomes, v_part.bodies, 0) as r;
    end if;
    return query
    select 'busy', q.tenant_id, q.unit_id, q.lease_no, null::bigint, null, null::int, null::int, null::real,
        null, null::jsonb, null::jsonb, null::jsonb, null::jsonb, null, null, null::timestamptz
    from unnest(p_tenant_ids, p_unit_ids, p_lease_nos) as q (tenant_id, unit_id, lease_no)
    where not q.unit_id = any (coalesce(v_free.unit_ids, '{}'));
end
$$;
