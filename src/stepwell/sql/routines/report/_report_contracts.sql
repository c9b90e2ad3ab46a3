-- Purpose: _report_completed for a batch in which a step has an output contract or a postcondition: first the verdicts,
--   then the successors of those that hold; the others fail permanently.
-- Locks: the caller holds the runs.
-- Idempotency: a report whose lease is gone is refused by the core and leaves nothing.
-- Raises: SW004 when the registry refuses for another reason.
create or replace function stepwell._report_contracts(
    p_session_id bigint, p_tenant_ids int[], p_unit_ids bigint[], p_lease_nos int[], p_bodies text[], p_now timestamptz
) returns bigint[]
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_done record;
begin
    v_done := stepwell._transition_apply(
        p_tenant_ids, p_unit_ids, array_fill('completed'::text, array[cardinality(p_unit_ids)]), 'executor_worker',
        'rpc', 'step_complete', p_session_id => p_session_id, p_lease_nos => p_lease_nos, p_now => p_now,
        p_evidence => array(select jsonb_build_object('output', x.body::jsonb)
            from unnest(p_bodies) with ordinality as x (body, ord) order by x.ord));
    insert into stepwell.unit_output (tenant_id, unit_id, lease_no, output, created_at)
    select q.tenant_id, q.unit_id, q.lease_no, q.body::jsonb, p_now
    from unnest(p_tenant_ids, p_unit_ids, p_lease_nos, p_bodies) as q (tenant_id, unit_id, lease_no, body)
    where q.body is not null and q.unit_id = any (v_done.applied_ids);
    if v_done.applied_ids is not null then
        perform stepwell._advance(array_agg(q.tenant_id), array_agg(q.unit_id))
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id) where q.unit_id = any (v_done.applied_ids);
    end if;
    if v_done.slot_ids is not null then
        perform stepwell._slots_free(v_done.slot_tenant_ids, v_done.slot_ids);
    end if;
    return coalesce(v_done.applied_ids, '{}') || stepwell._report_broken(
        p_session_id, p_tenant_ids, p_unit_ids, p_lease_nos, v_done.applied_ids);
end
$$;
