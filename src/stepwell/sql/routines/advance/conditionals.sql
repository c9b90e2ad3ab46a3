-- Conditionals: the test is evaluated, one branch opens, the other is skipped. A test that reads the status or the error
-- of a failed step catches its failure. Callers hold the locks of the runs. SW004: the registry refuses.

-- Whether a step catches the failure of the step with this number. Only a conditional catches, and only the steps that its
-- test is about; versions that name none of these were published by an older release and catch all steps that they read.
create or replace function stepwell._catches(p_step_kind text, p_config jsonb, p_step_no int) returns boolean
language sql immutable parallel safe
as $$
    select p_step_kind = 'conditional' and coalesce(coalesce(p_config -> 'catches', p_config -> 'reads') @> to_jsonb(p_step_no), false)
$$;

-- Decides conditionals whose predecessors have ended, by the values of their tests: skips the branch not taken and releases
-- what comes next. Failures that the test has read count as caught. A test that has a problem or gives no boolean fails
-- the conditional for good.
create or replace function stepwell._conditionals_decide(
    p_tenant_ids int[], p_unit_ids bigint[], p_values jsonb[], p_problems text[]
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_made record;
    v_skipped record;
begin
    with tested as materialized (
        select u.tenant_id, u.unit_id, case when jsonb_typeof(q.value) = 'boolean' then q.value::boolean end as holds,
            case when jsonb_typeof(q.value) = 'boolean' then null else coalesce(q.problem, format(
                'test: %s gives %s, not true or false', d.config ->> 'test', coalesce(left(q.value::text, 100), 'nothing')))
                end as problem
        from unnest(p_tenant_ids, p_unit_ids, p_values, p_problems) as q (tenant_id, unit_id, value, problem)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
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
        perform stepwell._units_move(v_made.tenant_ids, v_made.unit_ids, 'completed', 'mow_orchestrator',
            'condition_resolved', null, 'engine');
        select array_agg(s.tenant_id order by s.unit_id) as tenant_ids, array_agg(s.unit_id order by s.unit_id) as unit_ids
        into v_skipped
        from stepwell._branches_not_taken(v_made.tenant_ids, v_made.unit_ids, v_made.results) as s;
        perform stepwell._units_move(v_skipped.tenant_ids, v_skipped.unit_ids, 'skipped', 'mow_orchestrator',
            'condition_resolved', 'branch_not_taken', 'engine');
        perform stepwell._advance(v_made.tenant_ids || v_skipped.tenant_ids, v_made.unit_ids || v_skipped.unit_ids);
    end if;
    if v_made.bad_ids is not null then
        perform stepwell._units_fail(v_made.bad_tenant_ids, v_made.bad_ids, v_made.problems, 'mow_orchestrator');
    end if;
end
$$;

-- The steps, to any depth, of the branches that these conditionals did not open, also conditionals that are held there.
create or replace function stepwell._branches_not_taken(p_tenant_ids int[], p_unit_ids bigint[], p_results boolean[])
returns table (tenant_id int, unit_id bigint)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with recursive closed as (
        select u.tenant_id, u.version_id, u.unit_id - u.def_no as base_id, d.scope_no, b.branch_no
        from unnest(p_tenant_ids, p_unit_ids, p_results) as q (tenant_id, unit_id, result)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        inner join stepwell.workflow_branch as b
            on u.tenant_id = b.tenant_id and u.version_id = b.version_id and u.def_no = b.conditional_no
        where b.negated = q.result
        union
        select c.tenant_id, c.version_id, c.base_id, c.scope_no, b.branch_no
        from closed as c
        inner join stepwell.workflow_branch as b
            on c.tenant_id = b.tenant_id and c.version_id = b.version_id and c.branch_no = b.parent_branch_no
    )
    select s.tenant_id, s.unit_id
    from closed as c
    inner join stepwell.workflow_step_def as d
        on c.tenant_id = d.tenant_id and c.version_id = d.version_id and c.branch_no = d.branch_no
        and c.scope_no = d.scope_no
    inner join stepwell.work_unit as s
        on c.tenant_id = s.tenant_id and c.base_id + d.step_no = s.unit_id
        and (s.state_code = 'not_started' or (s.state_code = 'ready' and s.executor_class_id is null and d.step_kind = 'conditional'))
$$;

-- Marks the failures that these conditionals have read as caught, also those read through a step that was cancelled
-- because of them, and these steps too: what is caught does not fail the run.
create or replace function stepwell._failures_catch(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language sql volatile
set search_path = stepwell, pg_temp
as $$
    with recursive up as (
        select u.tenant_id, u.unit_id, u.version_id, u.def_no, u.state_code
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        union
        select s.tenant_id, s.unit_id, s.version_id, s.def_no, s.state_code
        from up as d
        inner join stepwell.workflow_step_relations as r
            on d.tenant_id = r.tenant_id and d.version_id = r.version_id and d.def_no = r.to_no
        cross join lateral (
            select x.tenant_id, x.unit_id, x.version_id, x.def_no, x.state_code from stepwell.work_unit as x
            where x.tenant_id = d.tenant_id and x.unit_id = d.unit_id + r.from_no - d.def_no offset 0
        ) as s
        where d.state_code <> 'cannot_complete' and s.state_code in ('cannot_complete', 'cancelled')
    ), caught as (
        update stepwell.work_unit as w set failure_caught = true
        from up as u
        where u.state_code in ('cannot_complete', 'cancelled') and w.tenant_id = u.tenant_id and w.unit_id = u.unit_id
            and not w.failure_caught
        returning w.tenant_id, stepwell._run_of(w.unit_id) as run_id, w.mandatory and w.state_code = 'cannot_complete' as counts
    )
    update stepwell.run_progress as p set failed_count = p.failed_count - c.caught_count
    from (select x.tenant_id, x.run_id, count(*) filter (where x.counts) as caught_count
        from caught as x group by x.tenant_id, x.run_id) as c
    where p.tenant_id = c.tenant_id and p.run_id = c.run_id
$$;

-- Returns those of these conditionals that must wait, because a step is open behind a cancelled predecessor: otherwise
-- what they read would depend on the order of events. Marks their runs with needs_attention and watches_steps.
create or replace function stepwell._conditionals_hold(p_tenant_ids int[], p_unit_ids bigint[]) returns bigint[]
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_asked record;
    v_held record;
begin
    select array_agg(u.tenant_id) as tenant_ids, array_agg(u.unit_id) as unit_ids
    into v_asked
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    inner join stepwell.workflow_step_def as d
        on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    where d.step_kind = 'conditional';
    if v_asked.unit_ids is null then
        return '{}'::bigint[];
    end if;
    select array_agg(distinct b.tenant_id) as tenant_ids, array_agg(distinct b.waiting_id) as unit_ids
    into v_held
    from stepwell._steps_behind(v_asked.tenant_ids, v_asked.unit_ids) as b;
    if v_held.unit_ids is not null then
        update stepwell.run_progress as p set needs_attention = true, watches_steps = true
        where p.tenant_id = any (v_held.tenant_ids) and p.run_id in (select stepwell._run_of(h) from unnest(v_held.unit_ids) as h);
    end if;
    return coalesce(v_held.unit_ids, '{}');
end
$$;

-- Decides the conditionals of a run that had to wait and have nothing open before them any more; one of them may
-- release another. Returns true while one still waits.
create or replace function stepwell._conditionals_resume(p_tenant_id int, p_run_id bigint) returns boolean
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_unit_ids bigint[];
    v_free_ids bigint[];
begin
    loop
        v_unit_ids := array(
            select u.unit_id
            from stepwell.work_unit as u
            inner join stepwell.workflow_step_def as d
                on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
            where u.tenant_id = p_tenant_id and u.unit_id between stepwell._run_unit(p_run_id) + 1 and stepwell._run_last(p_run_id)
                and u.state_code = 'ready' and u.executor_class_id is null and d.step_kind = 'conditional');
        v_free_ids := array(
            select x from unnest(v_unit_ids) as x
            except
            select b.waiting_id from stepwell._steps_behind(
                array_fill(p_tenant_id, array[cardinality(v_unit_ids)]), v_unit_ids) as b);
        exit when v_free_ids = '{}';
        perform stepwell._engine_steps(array_fill(p_tenant_id, array[cardinality(v_free_ids)]), v_free_ids);
    end loop;
    return v_unit_ids <> '{}';
end
$$;

-- The open steps that these steps wait for: direct predecessors, and steps behind predecessors that were cancelled. A
-- step that ran, or a conditional that was decided, has nothing open behind it.
create or replace function stepwell._steps_behind(p_tenant_ids int[], p_unit_ids bigint[])
returns table (tenant_id int, waiting_id bigint, unit_id bigint)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with recursive behind as (
        select u.tenant_id, u.unit_id as waiting_id, u.unit_id, u.version_id, u.def_no, true as is_passed
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        union
        select s.tenant_id, b.waiting_id, s.unit_id, s.version_id, s.def_no, s.state_code = 'cancelled'
        from behind as b
        inner join stepwell.workflow_step_relations as r
            on b.tenant_id = r.tenant_id and b.version_id = r.version_id and b.def_no = r.to_no
        cross join lateral (
            select x.tenant_id, x.unit_id, x.version_id, x.def_no, x.state_code from stepwell.work_unit as x
            where x.tenant_id = b.tenant_id and x.unit_id = b.unit_id + r.from_no - b.def_no offset 0
        ) as s
        where b.is_passed and s.state_code not in ('completed', 'skipped', 'cannot_complete')
    )
    select b.tenant_id, b.waiting_id, b.unit_id from behind as b where not b.is_passed
$$;
