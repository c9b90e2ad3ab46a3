-- Purpose: leases were lost while effects were being made: nobody knows whether they happened.
-- Locks: the receipts in id order; the caller holds the runs.
-- Idempotency: yes.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._receipts_doubt(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_open record;
begin
    with held as (
        select u.tenant_id, u.unit_id
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.action_receipt as r on q.tenant_id = r.tenant_id and q.unit_id = r.unit_id
        inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.receipt_id = u.unit_id
        where u.state_code = 'intended'
        order by u.tenant_id, u.unit_id
        for update of u
    )
    select array_agg(h.tenant_id order by h.unit_id) as tenant_ids, array_agg(h.unit_id order by h.unit_id) as unit_ids
    into v_open
    from held as h;
    if v_open.unit_ids is not null then
        perform stepwell._must_apply(v_open.tenant_ids, v_open.unit_ids, 'unconfirmed', 'system', 'event', 'lease_lost',
            'engine', null, array_fill('{"reason": "the worker stopped answering"}'::jsonb,
                array[cardinality(v_open.unit_ids)]));
    end if;
end
$$;
