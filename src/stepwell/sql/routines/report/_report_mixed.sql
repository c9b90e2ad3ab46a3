-- Purpose: a batch in which not everything completed: splits it and hands each part to its routine. Returns what
--   _report_completed returns; every run is to be settled.
-- Locks: the caller holds the runs.
-- Idempotency: a report whose lease is gone is passed over.
-- Raises: SW001 for an unknown outcome.
create or replace function stepwell._report_mixed(
    p_session_id bigint, p_tenant_ids int[], p_unit_ids bigint[], p_lease_nos int[], p_outcomes text[], p_bodies text[],
    p_now timestamptz, p_class_ids int[]
) returns table (
    taken_ids bigint[], handed_ids bigint[], due_tenant_ids int[], due_ids bigint[], is_dry boolean, leaves_more boolean
)
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_done record;
    v_other record;
    v_taken_ids bigint[];
begin
    select
        array_agg(q.tenant_id order by q.unit_id) as tenant_ids, array_agg(q.unit_id order by q.unit_id) as unit_ids,
        array_agg(q.lease_no order by q.unit_id) as lease_nos, array_agg(q.body order by q.unit_id) as bodies
    into v_done
    from unnest(p_tenant_ids, p_unit_ids, p_lease_nos, p_outcomes, p_bodies)
        as q (tenant_id, unit_id, lease_no, outcome, body)
    where q.outcome = 'completed';
    select
        array_agg(q.tenant_id order by q.unit_id) as tenant_ids, array_agg(q.unit_id order by q.unit_id) as unit_ids,
        array_agg(q.lease_no order by q.unit_id) as lease_nos, array_agg(q.outcome order by q.unit_id) as outcomes,
        array_agg(q.body order by q.unit_id) as bodies
    into v_other
    from unnest(p_tenant_ids, p_unit_ids, p_lease_nos, p_outcomes, p_bodies)
        as q (tenant_id, unit_id, lease_no, outcome, body)
    where q.outcome <> 'completed';
    if v_done.unit_ids is not null then
        select c.taken_ids into v_taken_ids
        from stepwell._report_completed(p_session_id, v_done.tenant_ids, v_done.unit_ids, v_done.lease_nos, v_done.bodies,
            p_now, p_class_ids, 0) as c;
    end if;
    return query select v_taken_ids || stepwell._report_others(p_session_id, v_other.tenant_ids, v_other.unit_ids,
        v_other.lease_nos, v_other.outcomes, v_other.bodies), null::bigint[], p_tenant_ids, p_unit_ids, false, true;
end
$$;
