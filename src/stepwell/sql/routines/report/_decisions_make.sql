-- Purpose: decisions whose predecessors are settled: the test is evaluated over the run's document, the branch not
--   taken is skipped, what follows is released. A test that fails or gives no boolean fails the decision for good.
--   Failures the test has read count as caught.
-- Locks: the caller holds the runs.
-- Idempotency: called once per decision.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._decisions_make(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_made record;
    v_skipped record;
begin
    with tested as materialized (
        select u.tenant_id, u.unit_id, t.holds, t.problem
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        cross join lateral stepwell._test_evaluate(u.tenant_id, u.unit_id, d.config) as t
    )
    select
        array_agg(t.tenant_id order by t.unit_id) filter (where t.problem is null) as tenant_ids,
        array_agg(t.unit_id order by t.unit_id) filter (where t.problem is null) as unit_ids,
        array_agg(t.holds order by t.unit_id) filter (where t.problem is null) as results,
        array_agg(t.tenant_id order by t.unit_id) filter (where t.problem is not null) as bad_tenant_ids,
        array_agg(t.unit_id order by t.unit_id) filter (where t.problem is not null) as bad_ids,
        array_agg(jsonb_build_object('failure_class', 'expression_error', 'outcome', 'dead', 'error',
            jsonb_build_object('type', 'ExpressionError', 'message', t.problem)) order by t.unit_id)
            filter (where t.problem is not null) as problems
    into v_made
    from tested as t;
    if v_made.unit_ids is not null then
        perform stepwell._failures_catch(v_made.tenant_ids, v_made.unit_ids);
        insert into stepwell.unit_output (tenant_id, unit_id, lease_no, output, created_at)
        select q.tenant_id, q.unit_id, u.lease_no, to_jsonb(q.result), stepwell.now()
        from unnest(v_made.tenant_ids, v_made.unit_ids, v_made.results) as q (tenant_id, unit_id, result)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id;
        perform stepwell._must_apply(v_made.tenant_ids, v_made.unit_ids, 'completed', 'mow_orchestrator',
            'condition_resolved', null, 'engine');
        select array_agg(s.tenant_id order by s.unit_id) as tenant_ids, array_agg(s.unit_id order by s.unit_id) as unit_ids
        into v_skipped
        from stepwell._branches_not_taken(v_made.tenant_ids, v_made.unit_ids, v_made.results) as s;
        perform stepwell._must_apply(v_skipped.tenant_ids, v_skipped.unit_ids, 'skipped', 'mow_orchestrator',
            'condition_resolved', 'branch_not_taken', 'engine');
        perform stepwell._advance(v_made.tenant_ids || v_skipped.tenant_ids, v_made.unit_ids || v_skipped.unit_ids);
    end if;
    if v_made.bad_ids is not null then
        perform stepwell._units_fail(v_made.bad_tenant_ids, v_made.bad_ids, v_made.problems, 'mow_orchestrator');
    end if;
end
$$;
