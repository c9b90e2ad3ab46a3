-- Effects in other systems whose attempt ended before the effect was settled. A receipt never stays intended after its
-- attempt: it becomes unconfirmed, and the next attempt, or a person, finds out what happened.

-- Receipts of these units become unconfirmed when the attempt that was making the effect does not have its lease any
-- more. The attempt itself may still settle them: an effect that happened has happened.
-- Locks: the receipts in id order; the caller holds the units, and has ended their leases.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._receipts_doubt(p_tenant_ids int[], p_unit_ids bigint[], p_reason text) returns int
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
        where r.settled_at is null and u.state_code = 'intended'
            and not exists (select from stepwell.work_unit as s
                where s.tenant_id = r.tenant_id and s.unit_id = r.unit_id and s.lease_no = r.lease_no
                    and s.lease_session_id is not null)
        order by u.tenant_id, u.unit_id
        for update of u
    )
    select array_agg(h.tenant_id order by h.unit_id) as tenant_ids, array_agg(h.unit_id order by h.unit_id) as unit_ids
    into v_open
    from held as h;
    if v_open.unit_ids is null then
        return 0;
    end if;
    return stepwell._receipts_unconfirm(v_open.tenant_ids, v_open.unit_ids, p_reason);
end
$$;

-- These receipts become unconfirmed.
-- Locks: the caller holds the receipts.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._receipts_unconfirm(p_tenant_ids int[], p_receipt_ids bigint[], p_reason text) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._units_move(p_tenant_ids, p_receipt_ids, 'unconfirmed', 'system', 'event', 'lease_lost',
        'engine', null, array_fill(jsonb_build_object('reason', p_reason), array[cardinality(p_receipt_ids)]));
    return cardinality(p_receipt_ids);
end
$$;
