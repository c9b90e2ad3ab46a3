-- Purpose: open questions about actions of units that will not act any more are no longer asked.
-- Locks: the caller holds the runs; then the approvals in id order.
-- Idempotency: yes.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._approvals_cancel(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_open record;
begin
    select array_agg(a.tenant_id order by a.approval_id) as tenant_ids,
        array_agg(a.approval_id order by a.approval_id) as approval_ids
    into v_open
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.approval_detail as a on q.tenant_id = a.tenant_id and q.unit_id = a.subject_unit_id
    where a.action = 'act' and a.decided_at is null;
    if v_open.approval_ids is null then
        return;
    end if;
    perform stepwell._must_apply(v_open.tenant_ids, v_open.approval_ids, 'cancelled', 'system', 'condition_resolved',
        'subject_ended', 'engine');
    perform stepwell._approvals_close(v_open.tenant_ids, v_open.approval_ids, 'engine');
end
$$;
