-- The locks of runs. A session that changes something in a run holds the lock of that run. The order of all locks is in
-- ARCHITECTURE.md.

-- Locks the runs of these units. Returns whether one of them is paused.
-- Locks: run_progress rows in (tenant, run) order; a free-standing job has none.
create or replace function stepwell._runs_lock(p_tenant_ids int[], p_unit_ids bigint[]) returns boolean
language plpgsql volatile
as $$
declare
    v_is_frozen boolean;
begin
    if cardinality(p_unit_ids) = 1 then
        -- Most calls of an idle system: the plan for one row costs a third of the plan for many.
        select p.frozen_at is not null into v_is_frozen
        from stepwell.run_progress as p
        where p.tenant_id = p_tenant_ids[1] and p.run_id = stepwell._run_of(p_unit_ids[1])
        for update;
    else
        select bool_or(l.is_frozen) into v_is_frozen from (
            select p.frozen_at is not null as is_frozen
            from (
                select distinct q.tenant_id, stepwell._run_of(q.unit_id) as run_id
                from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
            ) as s
            inner join stepwell.run_progress as p on s.tenant_id = p.tenant_id and s.run_id = p.run_id
            order by p.tenant_id, p.run_id
            for update of p
        ) as l;
    end if;
    return coalesce(v_is_frozen, false);
end
$$;

-- Locks the runs of these units and every run above them, so that an end below can change the runs above at once. For
-- calls of people and keepers, which are few; a report locks only its own runs.
-- Locks: run_progress rows in (tenant, run) order, which is from the top: a parent has a lower number than its child.
create or replace function stepwell._runs_lock_up(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_up record;
begin
    with recursive up as (
        select q.tenant_id, stepwell._run_of(q.unit_id) as run_id from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        union
        select u.tenant_id, p.parent_run_id
        from up as u
        -- By its key (offset 0): where no run had a parent when this was planned, a join reads all runs of the tenant.
        cross join lateral (
            select r.parent_run_id from stepwell.run_progress as r where r.tenant_id = u.tenant_id and r.run_id = u.run_id offset 0
        ) as p
        where p.parent_run_id is not null
    )
    select array_agg(u.tenant_id) as tenant_ids, array_agg(stepwell._run_unit(u.run_id)) as unit_ids into v_up from up as u;
    perform stepwell._runs_lock(v_up.tenant_ids, v_up.unit_ids);
end
$$;

-- Locks the runs of these units, and free-standing units (jobs, approvals, receipts) themselves.
-- Locks: run_progress rows in run order, then ready rows of jobs, then units in id order. A claim holds the ready row
--   and then locks the unit; the opposite order here would be a deadlock.
create or replace function stepwell._runs_and_jobs_lock(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._runs_lock(p_tenant_ids, p_unit_ids);
    perform 1
    from (
        select u.tenant_id, u.executor_class_id, -u.priority as rank, u.operation_id, u.unit_id
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        where stepwell._unit_no(q.unit_id) = 0 and u.scope = 'job'
    ) as f
    inner join stepwell.job_ready as r
        on f.executor_class_id = r.executor_class_id and f.tenant_id = r.tenant_id and r.workspace_id = stepwell._workspace_of(f.tenant_id, f.unit_id)
            and f.rank = r.rank and f.operation_id = r.operation_id and f.unit_id = r.unit_id
    order by r.tenant_id, r.unit_id
    for update of r;
    perform 1
    from stepwell.work_unit as u
    inner join (
        select distinct q.tenant_id, q.unit_id
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        where stepwell._unit_no(q.unit_id) = 0
    ) as s on u.tenant_id = s.tenant_id and u.unit_id = s.unit_id
    where u.scope not in ('workflow_run', 'step', 'task')
    order by u.tenant_id, u.unit_id
    for update of u;
end
$$;

-- The state of a run.
-- Raises: SW002 when there is no such run.
create or replace function stepwell._run_state(p_tenant_id int, p_run_id bigint) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_state text;
begin
    select u.state_code into v_state
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = stepwell._run_unit(p_run_id) and u.scope = 'workflow_run';
    if not found then
        raise exception using errcode = 'SW002', message = format('run %s does not exist', p_run_id);
    end if;
    return v_state;
end
$$;
