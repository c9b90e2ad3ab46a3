-- Purpose: outcomes other than completed, each kind in one set-based call. Returns the units whose report was taken:
--   those whose lease (session, lease_no) still holds.
-- Locks: the caller holds session and runs.
-- Idempotency: a report whose lease is gone is passed over.
-- Raises: SW001 for an unknown outcome.
create or replace function stepwell._report_others(
    p_session_id bigint, p_tenant_ids int[], p_unit_ids bigint[], p_lease_nos int[], p_outcomes text[], p_bodies text[]
) returns bigint[]
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_part record;
    v_taken_ids bigint[] := '{}';
begin
    for v_part in
        select
            case when q.outcome in ('failed', 'retry', 'dead') then 'failed'
                when q.outcome in ('waiting', 'sleep') then 'parked' else q.outcome end as kind,
            array_agg(q.tenant_id order by q.unit_id) as tenant_ids, array_agg(q.unit_id order by q.unit_id) as unit_ids,
            array_agg(q.tenant_id) filter (where u.slot_key is not null) as slot_tenant_ids,
            array_agg(q.unit_id) filter (where u.slot_key is not null) as slot_ids,
            array_agg(coalesce(q.body::jsonb, '{}') || jsonb_build_object('outcome', q.outcome) order by q.unit_id) as bodies
        from unnest(p_tenant_ids, p_unit_ids, p_lease_nos, p_outcomes, p_bodies)
            as q (tenant_id, unit_id, lease_no, outcome, body)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        where u.lease_session_id = p_session_id and u.lease_no = q.lease_no and u.state_code in ('in_progress', 'overdue')
        group by 1
        order by 1
    loop
        v_taken_ids := v_taken_ids || v_part.unit_ids;
        if v_part.slot_ids is not null then
            perform stepwell._slots_free(v_part.slot_tenant_ids, v_part.slot_ids);
        end if;
        case v_part.kind
            when 'failed' then
                perform stepwell._units_fail(v_part.tenant_ids, v_part.unit_ids, v_part.bodies, 'executor_worker', p_session_id);
            when 'parked' then
                perform stepwell._units_park(v_part.tenant_ids, v_part.unit_ids, v_part.bodies, p_session_id);
            when 'released' then
                perform stepwell._must_apply(v_part.tenant_ids, v_part.unit_ids, 'ready', 'executor_worker', 'rpc',
                    'step_release', p_session_id => p_session_id);
                perform stepwell._slots_take(v_part.tenant_ids, v_part.unit_ids);
            else
                raise exception using errcode = 'SW001', message = format(
                    'outcome: %s is unknown; completed, failed, retry, dead, waiting, sleep or released', v_part.kind);
        end case;
    end loop;
    return v_taken_ids;
end
$$;
