-- Purpose: has this very approval been granted, for this action and this unit or its run?
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._approval_granted(
    p_tenant_id int, p_approval_id bigint, p_action text, p_unit_id bigint
) returns boolean
language sql stable
set search_path = stepwell, pg_temp
as $$
    select exists (
        select from stepwell.approval_detail as a
        inner join stepwell.work_unit as u on a.tenant_id = u.tenant_id and a.approval_id = u.unit_id
        where a.tenant_id = p_tenant_id and a.approval_id = p_approval_id and a.action = p_action
            and a.subject_unit_id in (p_unit_id, (p_unit_id >> 20) << 20) and u.state_code = 'approved')
$$;
