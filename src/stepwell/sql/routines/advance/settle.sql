-- A run ends when nothing in it is open: completed, or failed when a mandatory step could not complete or was cancelled,
-- and nothing caught that. Callers hold the locks of the runs. SW004: the registry refuses.

-- Ends what has nothing left to do: Maps whose items have ended, then runs: completed, or failed when a mandatory step
-- could not complete or was cancelled. A sub-run that goes on sets the state of the step around it by its colour.
-- Locks: the runs above a sub-run, as _subrun_states_show.
create or replace function stepwell._runs_settle(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_ended record;
    v_looked boolean := false;
begin
    loop
        select
            array_agg(p.tenant_id) filter (where p.needs_attention) as attention_tenant_ids,
            array_agg(p.run_id) filter (where p.needs_attention) as attention_run_ids,
            array_agg(p.tenant_id) filter (where p.map_count > 0) as map_tenant_ids,
            array_agg(p.run_id) filter (where p.map_count > 0) as map_run_ids,
            array_agg(p.tenant_id) filter (where p.parent_run_id is not null and p.open_count > 0) as child_tenant_ids,
            array_agg(p.run_id) filter (where p.parent_run_id is not null and p.open_count > 0) as child_run_ids,
            array_agg(p.tenant_id order by p.run_id) filter (where p.open_count = 0 and not f.has_failed) as done_tenant_ids,
            array_agg(stepwell._run_unit(p.run_id) order by p.run_id) filter (where p.open_count = 0 and not f.has_failed) as done_ids,
            array_agg(p.tenant_id order by p.run_id) filter (where p.open_count = 0 and f.has_failed) as failed_tenant_ids,
            array_agg(stepwell._run_unit(p.run_id) order by p.run_id) filter (where p.open_count = 0 and f.has_failed) as failed_ids
        into v_ended
        from (
            select distinct q.tenant_id, stepwell._run_of(q.unit_id) as run_id
            from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        ) as s
        cross join lateral (
            select r.* from stepwell.run_progress as r where r.tenant_id = s.tenant_id and r.run_id = s.run_id offset 0
        ) as p
        -- A run without a red step has lost none: it pays for no look at its steps.
        cross join lateral (select p.failed_count > 0 or (p.red_count > 0 and p.open_count = 0
            and stepwell._run_lost_a_step(p.tenant_id, p.run_id)) as has_failed) as f
        where p.map_count > 0 or p.open_count = 0 or p.needs_attention or p.parent_run_id is not null;
        -- What people reopened or blocked may change with any other step; after that, count again.
        if v_ended.attention_run_ids is not null and not v_looked then
            v_looked := true;
            perform stepwell._attention_settle(a.tenant_id, a.run_id)
            from unnest(v_ended.attention_tenant_ids, v_ended.attention_run_ids) as a (tenant_id, run_id);
            continue;
        end if;
        v_looked := false;
        -- Maps first: a Map that ends may release steps, or be the last open thing of its run.
        exit when v_ended.map_run_ids is null
            or stepwell._maps_settle(v_ended.map_tenant_ids, v_ended.map_run_ids) = 0;
    end loop;
    if v_ended.child_run_ids is not null then
        perform stepwell._subrun_states_show(v_ended.child_tenant_ids, v_ended.child_run_ids);
    end if;
    if v_ended.done_ids is not null then
        perform stepwell._runs_end(v_ended.done_tenant_ids, v_ended.done_ids, 'completed', 'all_mandatory_steps_completed');
    end if;
    if v_ended.failed_ids is not null then
        perform stepwell._runs_end(v_ended.failed_tenant_ids, v_ended.failed_ids, 'failed', 'mandatory_step_cannot_complete');
    end if;
    if v_ended.attention_run_ids is not null and coalesce(v_ended.done_ids, v_ended.failed_ids) is not null then
        -- Approvals about a run end with it.
        perform stepwell._attention_settle(a.tenant_id, a.run_id)
        from unnest(v_ended.attention_tenant_ids, v_ended.attention_run_ids) as a (tenant_id, run_id);
    end if;
end
$$;

-- Ends runs that are in progress and have nothing open; a sub-run gives its result to the step around it. A run that is
-- paused or has ended is left alone.
create or replace function stepwell._runs_end(
    p_tenant_ids int[], p_unit_ids bigint[], p_to_state text, p_trigger_ref text
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_open record;
begin
    select array_agg(u.tenant_id order by u.unit_id) as tenant_ids, array_agg(u.unit_id order by u.unit_id) as unit_ids,
        bool_or(u.parent_id is not null) as has_parent
    into v_open
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    cross join lateral (
        select w.tenant_id, w.unit_id, w.parent_id, w.state_code from stepwell.work_unit as w
        where w.tenant_id = q.tenant_id and w.unit_id = q.unit_id offset 0
    ) as u
    where u.state_code = 'in_progress';
    if v_open.unit_ids is null then
        return;
    end if;
    perform stepwell._units_move(v_open.tenant_ids, v_open.unit_ids, p_to_state, 'system', 'condition_resolved', p_trigger_ref,
        'engine');
    perform stepwell._runs_finish(v_open.tenant_ids, array(select stepwell._run_of(q) from unnest(v_open.unit_ids) as q), p_to_state);
    if v_open.has_parent then
        perform stepwell._subruns_end(v_open.tenant_ids, v_open.unit_ids);
    end if;
end
$$;

-- Stores when and how runs ended, as the last event of each says, and notifies clients that watch them. Each run is looked up
-- by itself (offset 0): in a join, a plan for young tables reads all units of the tenant for each run.
-- Locks: the rows of the runs in run_detail.
create or replace function stepwell._runs_finish(p_tenant_ids int[], p_run_ids bigint[], p_state text) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_told_count bigint;
begin
    with finished as (
        update stepwell.run_detail as r set finished_state = p_state, finished_at = u.last_transition_at
        from unnest(p_tenant_ids, p_run_ids) as q (tenant_id, run_id)
        cross join lateral (
            select w.last_transition_at from stepwell.work_unit as w
            where w.tenant_id = q.tenant_id and w.unit_id = stepwell._run_unit(q.run_id) offset 0
        ) as u
        where r.tenant_id = q.tenant_id and r.run_id = q.run_id
        returning r.run_id, r.is_watched
    )
    select count(pg_notify('stepwell_ended', f.run_id::text)) into v_told_count
    from finished as f
    where f.is_watched;
end
$$;

-- The results of runs, in the order of the runs: the output of the only last step, or an object of the outputs of the last
-- steps by id. Each step is looked up by itself (offset 0): in a join, a plan for young tables reads all units of the tenant.
create or replace function stepwell._run_results(p_tenant_ids int[], p_run_ids bigint[]) returns jsonb[]
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return array(
        select x.result
        from unnest(p_tenant_ids, p_run_ids) with ordinality as q (tenant_id, run_id, place)
        cross join lateral (
            select case count(*) when 1 then jsonb_agg(o.output) -> 0
                else jsonb_object_agg(d.step_id, coalesce(o.output, 'null')) end as result
            from stepwell.run_detail as r
            cross join lateral (
                select s.step_id, s.step_no from stepwell.workflow_step_def as s
                where s.tenant_id = r.tenant_id and s.version_id = r.version_id and s.is_last offset 0
            ) as d
            cross join lateral (
                select w.tenant_id, w.unit_id, w.state_code from stepwell.work_unit as w
                where w.tenant_id = r.tenant_id and w.unit_id = stepwell._run_unit(r.run_id) | d.step_no offset 0
            ) as u
            left join lateral (
                select w.output from stepwell.unit_output as w
                where w.tenant_id = u.tenant_id and w.unit_id = u.unit_id order by w.lease_no desc limit 1
            ) as o on true
            where r.tenant_id = q.tenant_id and r.run_id = q.run_id and u.state_code = 'completed'
        ) as x
        order by q.place);
end
$$;

-- The result of one run.
create or replace function stepwell._run_result(p_tenant_id int, p_run_id bigint) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return (stepwell._run_results(array[p_tenant_id], array[p_run_id]))[1];
end
$$;
