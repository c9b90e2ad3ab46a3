-- Purpose: units that completed: output kept, state changed, successors released. A unit whose output breaks its
--   contract fails permanently instead.
-- Locks: the caller holds session and runs.
-- Idempotency: the caller has fenced each unit.
-- Raises: SW004 when the registry refuses for another reason than the contract.
create or replace function stepwell._report_completed(
    p_session_id bigint, p_tenant_ids int[], p_unit_ids bigint[], p_lease_nos int[], p_bodies text[], p_has_contract boolean
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set random_page_cost = 0.01
as $$
declare
    v_evidence jsonb[];
    v_verdict record;
begin
    if p_has_contract then
        v_evidence := array(select jsonb_build_object('output', b::jsonb) from unnest(p_bodies) with ordinality as x (b, ord)
            order by x.ord);
    end if;
    insert into stepwell.unit_output (tenant_id, unit_id, lease_no, output, created_at)
    select q.tenant_id, q.unit_id, q.lease_no, q.body::jsonb, stepwell.now()
    from unnest(p_tenant_ids, p_unit_ids, p_lease_nos, p_bodies) as q (tenant_id, unit_id, lease_no, body)
    where q.body is not null;
    select
        array_agg(a.tenant_id) filter (where a.ok) as tenant_ids,
        array_agg(a.unit_id) filter (where a.ok) as unit_ids,
        array_agg(a.tenant_id) filter (where not a.ok) as refused_tenant_ids,
        array_agg(a.unit_id) filter (where not a.ok) as refused_ids,
        array_agg(to_json(a.problems)::text) filter (where not a.ok) as refused_problems
    into v_verdict
    from stepwell._transition_apply(
        p_tenant_ids, p_unit_ids, array_fill('completed'::text, array[cardinality(p_unit_ids)]), 'executor_worker',
        'rpc', 'step_complete', p_evidence => v_evidence, p_session_id => p_session_id) as a;
    if v_verdict.refused_ids is not null then
        delete from stepwell.unit_output as o
        using unnest(v_verdict.refused_tenant_ids, v_verdict.refused_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        where o.tenant_id = q.tenant_id and o.unit_id = q.unit_id and o.lease_no = u.lease_no;
        perform stepwell._units_fail(v_verdict.refused_tenant_ids, v_verdict.refused_ids,
            array(select jsonb_build_object('failure_class', 'output_contract', 'outcome', 'dead',
                'error', jsonb_build_object('type', 'OutputContract', 'message', 'the result breaks the step''s contract',
                    'problems', p::jsonb)) from unnest(v_verdict.refused_problems) as p),
            'executor_worker', p_session_id);
    end if;
    if v_verdict.unit_ids is not null then
        perform stepwell._advance(v_verdict.tenant_ids, v_verdict.unit_ids);
    end if;
end
$$;
