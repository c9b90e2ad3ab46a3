-- Purpose: completed reports the registry refused while the lease holds: the output breaks the step's contract, so the
--   unit fails permanently. Returns those units.
-- Locks: the caller holds session and runs.
-- Idempotency: units whose lease is gone are passed over.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._report_broken(
    p_session_id bigint, p_tenant_ids int[], p_unit_ids bigint[], p_lease_nos int[], p_taken_ids bigint[]
) returns bigint[]
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_broken record;
begin
    select array_agg(u.tenant_id order by u.unit_id) as tenant_ids, array_agg(u.unit_id order by u.unit_id) as unit_ids,
        array_agg('failed'::text) as outcomes, array_agg(u.lease_no order by u.unit_id) as lease_nos,
        array_agg('{"failure_class": "output_contract", "error": {"type": "OutputContract", "message":
            "the result breaks the contract or the postcondition of the step"}}'::text) as bodies
    into v_broken
    from unnest(p_tenant_ids, p_unit_ids, p_lease_nos) as q (tenant_id, unit_id, lease_no)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where u.lease_session_id = p_session_id and u.lease_no = q.lease_no and u.state_code in ('in_progress', 'overdue')
        and not q.unit_id = any (coalesce(p_taken_ids, '{}'));
    if v_broken.unit_ids is null then
        return '{}';
    end if;
    return stepwell._report_others(p_session_id, v_broken.tenant_ids, v_broken.unit_ids, v_broken.lease_nos,
        v_broken.outcomes, v_broken.bodies);
end
$$;
