-- What a run of a template has beside other runs: its row in job_workflow_detail, jobs with a delay, and jobs that one of their
-- parents releases (join: any). Callers hold the locks of the runs. SW004: the registry refuses.

-- Writes the rows of new job workflows, and the timers of their jobs with a delay. The units are written already.
create or replace function stepwell._graphs_begin(
    p_tenant_id int, p_version stepwell.workflow_version, p_run_ids bigint[]
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    insert into stepwell.job_workflow_detail (
        tenant_id, workflow_id, template_id, workflow_kind, generator, params_keys, ref_params)
    select p_tenant_id, r.run_id, t.template_id, t.workflow_kind, 'MOT:' || t.template_id,
        array(select k.key from jsonb_object_keys(r.input) as k (key) order by k.key), f.ref_params
    from unnest(p_run_ids) as q (run_id)
    inner join stepwell.run_detail as r on r.tenant_id = p_tenant_id and r.run_id = q.run_id
    inner join stepwell.job_template as t on t.tenant_id = p_tenant_id and t.workflow_id = p_version.workflow_id
    cross join lateral (
        select coalesce(jsonb_object_agg(i.key, i.value), '{}') as ref_params from jsonb_each(r.input) as i
        where exists (select from jsonb_array_elements(p_version.graph -> 'steps') as s (step)
            where '$.input.' || i.key in (s.step ->> 'source_ref', s.step ->> 'target_ref', s.step ->> 'payload_ref'))
    ) as f;
    insert into stepwell.timer (tenant_id, unit_id, timer_kind, due_at)
    select p_tenant_id, stepwell._run_unit(q.run_id) | d.step_no, 'start',
        r.created_at + make_interval(secs => (d.config ->> 'delay_seconds')::float)
    from unnest(p_run_ids) as q (run_id)
    inner join stepwell.run_detail as r on r.tenant_id = p_tenant_id and r.run_id = q.run_id
    cross join stepwell.workflow_step_def as d
    where d.tenant_id = p_tenant_id and d.version_id = p_version.version_id and d.config ? 'delay_seconds';
end
$$;

-- The params of a graph: those that are given, and the defaults of the others. p_known is the schema of each param.
create or replace function stepwell._params_filled(p_known jsonb, p_given jsonb) returns jsonb
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select coalesce(jsonb_object_agg(k.name, k.param -> 'default'), '{}') || p_given
    from jsonb_each(p_known) as k (name, param)
    where k.param ? 'default'
$$;

-- Jobs whose delay is over: those that wait for nothing else become ready.
create or replace function stepwell._delays_end(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_free record;
begin
    with over as (
        select u.tenant_id, u.unit_id, u.pending_count, case when d.config ->> 'join' = 'any' then (
            select count(*)::int from stepwell.workflow_step_relations as r
            where r.tenant_id = u.tenant_id and r.version_id = u.version_id and r.to_no = u.def_no) else 1 end as weight
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    ), counted as (
        update stepwell.work_unit as u set pending_count = u.pending_count - o.weight
        from over as o
        where o.pending_count > o.weight and u.tenant_id = o.tenant_id and u.unit_id = o.unit_id
    )
    select array_agg(o.tenant_id order by o.unit_id) as tenant_ids, array_agg(o.unit_id order by o.unit_id) as unit_ids,
        array_agg(o.weight order by o.unit_id) as weights
    into v_free
    from over as o
    where o.pending_count <= o.weight;
    if v_free.unit_ids is not null then
        perform stepwell._units_ready(v_free.tenant_ids, v_free.unit_ids, v_free.weights, true, true);
        perform stepwell._runs_settle(v_free.tenant_ids, v_free.unit_ids);
    end if;
end
$$;

-- Of these jobs, which require any of their parents, those are cancelled none of whose parents can succeed any more. Returns
-- them, null when there are none: what depends on them is for the caller to cancel.
create or replace function stepwell._joins_abort(p_tenant_ids int[], p_unit_ids bigint[], out tenant_ids int[], out unit_ids bigint[])
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    select array_agg(s.tenant_id order by s.unit_id), array_agg(s.unit_id order by s.unit_id)
    into _joins_abort.tenant_ids, _joins_abort.unit_ids
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as s on q.tenant_id = s.tenant_id and q.unit_id = s.unit_id
    -- Each job is looked at once, and until the first parent that is not lost: a job may have as many parents as a graph has jobs.
    where s.state_code = 'not_started' and not exists (
        select from stepwell.workflow_step_relations as r
        cross join lateral (
            select x.state_code from stepwell.work_unit as x
            where x.tenant_id = s.tenant_id and x.unit_id = s.unit_id + r.from_no - s.def_no offset 0
        ) as b
        where r.tenant_id = s.tenant_id and r.version_id = s.version_id and r.to_no = s.def_no
            and b.state_code not in ('cancelled', 'cannot_complete'));
    if _joins_abort.unit_ids is not null then
        perform stepwell._steps_abort(_joins_abort.tenant_ids, _joins_abort.unit_ids);
    end if;
end
$$;

-- How many parents of a step are in one of these states; without states all of them.
create or replace function stepwell._joins_parents(p_tenant_id int, p_version_id int, p_def_no int, p_unit_id bigint, p_states text[])
returns int
language sql stable
set search_path = stepwell, pg_temp
as $$
    select count(*)::int
    from stepwell.workflow_step_relations as r
    cross join lateral (
        select x.state_code from stepwell.work_unit as x
        where x.tenant_id = r.tenant_id and x.unit_id = p_unit_id + r.from_no - p_def_no offset 0
    ) as b
    where r.tenant_id = p_tenant_id and r.version_id = p_version_id and r.to_no = p_def_no
        and (p_states is null or b.state_code = any (p_states))
$$;

-- What a job that waits still waits for: its parents, as its join says, and its delay.
create or replace function stepwell._joins_pending(p_unit stepwell.work_unit, p_config jsonb) returns int
language sql stable
set search_path = stepwell, pg_temp
as $$
    select case when p_config ->> 'join' = 'any' then greatest(1 - n.done_count + case when n.is_delayed then n.all_count else 0 end, 0)
        else n.all_count - n.done_count + n.is_delayed::int end
    from (
        select stepwell._joins_parents(p_unit.tenant_id, p_unit.version_id, p_unit.def_no, p_unit.unit_id, null) as all_count,
            stepwell._joins_parents(p_unit.tenant_id, p_unit.version_id, p_unit.def_no, p_unit.unit_id, '{completed,skipped}') as done_count,
            exists (select from stepwell.timer as t where t.tenant_id = p_unit.tenant_id and t.unit_id = p_unit.unit_id
                and t.timer_kind = 'start') as is_delayed
    ) as n
$$;

-- Jobs that wait again after a replay: a delay that is not over holds again, and a job whose parents can all never succeed is
-- cancelled again.
create or replace function stepwell._joins_recount(p_tenant_id int, p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_special record;
    v_gone record;
begin
    select array_agg(u.unit_id) as unit_ids, array_agg(u.tenant_id) filter (where d.config ->> 'join' = 'any') as join_tenant_ids,
        array_agg(u.unit_id) filter (where d.config ->> 'join' = 'any') as join_ids
    into v_special
    from unnest(p_unit_ids) as q (unit_id)
    inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.unit_id = q.unit_id
    inner join stepwell.workflow_step_def as d
        on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    where d.config ?| array['join', 'delay_seconds'];
    if v_special.unit_ids is null then
        return;
    end if;
    insert into stepwell.timer (tenant_id, unit_id, timer_kind, due_at)
    select u.tenant_id, u.unit_id, 'start', r.created_at + make_interval(secs => (d.config ->> 'delay_seconds')::float)
    from unnest(v_special.unit_ids) as q (unit_id)
    inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.unit_id = q.unit_id
    inner join stepwell.run_detail as r on u.tenant_id = r.tenant_id and stepwell._run_of(u.unit_id) = r.run_id
    inner join stepwell.workflow_step_def as d
        on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    where d.config ? 'delay_seconds' and r.created_at + make_interval(secs => (d.config ->> 'delay_seconds')::float) > stepwell.now()
    on conflict do nothing;
    update stepwell.work_unit as u set pending_count = stepwell._joins_pending(u, d.config)
    from stepwell.workflow_step_def as d
    where u.tenant_id = p_tenant_id and u.unit_id = any (v_special.unit_ids) and u.state_code = 'not_started'
        and d.tenant_id = u.tenant_id and d.version_id = u.version_id and d.step_no = u.def_no;
    v_gone := stepwell._joins_abort(v_special.join_tenant_ids, v_special.join_ids);
    if v_gone.unit_ids is not null then
        perform stepwell._dependents_abort(v_gone.tenant_ids, v_gone.unit_ids);
    end if;
end
$$;

-- A job workflow whose run was opened again is active, and is refreshed again.
create or replace function stepwell._graph_reopened(p_tenant_id int, p_run_id bigint) returns void
language sql volatile
set search_path = stepwell, pg_temp
as $$
    update stepwell.job_workflow_detail as w set status = 'active'
    where w.tenant_id = p_tenant_id and w.workflow_id = p_run_id and w.status <> 'active'
$$;

-- The status of a job workflow from its run: how the run ended, and how many of its jobs succeeded or are dead.
create or replace function stepwell._graph_status(p_finished_state text, p_completed_count int, p_failed_count int) returns text
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select case when p_finished_state is null then 'active'
        when p_finished_state = 'completed' then 'succeeded'
        when p_finished_state = 'cancelled' then 'cancelled'
        when p_completed_count > 0 then 'partially_failed'
        when p_failed_count > 0 then 'failed'
        else 'cancelled' end
$$;

-- The status of a job workflow computed from its jobs alone, without counters and without how its run ended. A paused workflow is
-- active.
create or replace function stepwell._graph_status_computed(p_tenant_id int, p_workflow_id bigint) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select case
        when w.state_code = 'cancelled' then 'cancelled'
        when w.state_code = 'paused' or n.open_count > 0 then 'active'
        when n.done_count = n.all_count then 'succeeded'
        when n.done_count > 0 then 'partially_failed'
        when n.dead_count > 0 then 'failed'
        else 'cancelled' end
    from stepwell.work_unit as w
    cross join lateral (
        select count(*) as all_count, count(*) filter (where not stepwell._has_ended(u.state_code)) as open_count,
            count(*) filter (where u.state_code in ('completed', 'skipped')) as done_count,
            count(*) filter (where u.state_code = 'cannot_complete') as dead_count
        from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id between stepwell._run_unit(p_workflow_id) + 1 and stepwell._run_last(p_workflow_id)
            and u.scope = 'step'
    ) as n
    where w.tenant_id = p_tenant_id and w.unit_id = stepwell._run_unit(p_workflow_id)
$$;

-- Checks that there is such a job workflow.
-- Raises: SW002.
create or replace function stepwell._graph_find(p_tenant_id int, p_workflow_id bigint) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if not exists (select from stepwell.job_workflow_detail as w where w.tenant_id = p_tenant_id and w.workflow_id = p_workflow_id) then
        raise exception using errcode = 'SW002', column = 'workflow_id', message = format('job workflow %s does not exist', p_workflow_id);
    end if;
end
$$;
