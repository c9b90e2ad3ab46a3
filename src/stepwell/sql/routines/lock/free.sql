-- Locks that are taken only where they are free: a keeper passes over what somebody else has locked and comes back later,
-- so that an open transaction on one run makes nothing else late.

-- Locks the runs of these units and every run above them, and free-standing units (jobs, approvals, receipts) themselves,
-- without waiting. An approval also needs the locks of its subject. Returns the units that have all their locks;
-- is_short: some have not.
-- Locks: run_progress rows, then ready rows of jobs, then units; all without waiting, so in any order with others.
create or replace function stepwell._units_lock_free(
    p_tenant_ids int[], p_unit_ids bigint[], out tenant_ids int[], out unit_ids bigint[], out is_short boolean
)
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_need record;
    v_runs record;
    v_alone record;
begin
    -- Each unit with the runs it needs; a unit that stands alone needs no run.
    with recursive need as (
        select distinct q.tenant_id, q.unit_id, n.unit_id as needed_id, stepwell._run_of(n.unit_id) as run_id
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        cross join lateral (
            select q.unit_id
            union all
            select a.subject_unit_id from stepwell.approval_detail as a
            where a.tenant_id = q.tenant_id and a.approval_id = q.unit_id and a.subject_unit_id is not null
        ) as n (unit_id)
        union
        select n.tenant_id, n.unit_id, stepwell._run_unit(p.parent_run_id), p.parent_run_id
        from need as n
        -- By its key (offset 0): where no run had a parent when this was planned, a join reads all runs of the tenant.
        cross join lateral (
            select r.parent_run_id from stepwell.run_progress as r where r.tenant_id = n.tenant_id and r.run_id = n.run_id offset 0
        ) as p
        where p.parent_run_id is not null
    )
    select array_agg(n.tenant_id) as tenant_ids, array_agg(n.unit_id) as unit_ids, array_agg(n.needed_id) as needed_ids,
        array_agg(p.run_id) as run_ids
    into v_need
    from need as n
    left join stepwell.run_progress as p on n.tenant_id = p.tenant_id and n.run_id = p.run_id;
    select array_agg(l.tenant_id) as tenant_ids, array_agg(l.run_id) as run_ids
    into v_runs
    from (
        select p.tenant_id, p.run_id
        from (select distinct n.tenant_id, n.run_id from unnest(v_need.tenant_ids, v_need.run_ids) as n (tenant_id, run_id)) as s
        inner join stepwell.run_progress as p on s.tenant_id = p.tenant_id and s.run_id = p.run_id
        order by p.tenant_id, p.run_id
        for update of p skip locked
    ) as l;
    v_alone := stepwell._jobs_lock_free(v_need.tenant_ids, v_need.needed_ids);
    with held as (
        select h.tenant_id, h.run_id from unnest(v_runs.tenant_ids, v_runs.run_ids) as h (tenant_id, run_id)
    ), busy as (
        select b.tenant_id, b.unit_id from unnest(v_alone.tenant_ids, v_alone.unit_ids) as b (tenant_id, unit_id)
    ), short as (
        select distinct n.tenant_id, n.unit_id
        from unnest(v_need.tenant_ids, v_need.unit_ids, v_need.needed_ids, v_need.run_ids)
            as n (tenant_id, unit_id, needed_id, run_id)
        where (n.run_id is not null and not exists (select from held as h where h.tenant_id = n.tenant_id and h.run_id = n.run_id))
            or exists (select from busy as b where b.tenant_id = n.tenant_id and b.unit_id = n.needed_id)
    )
    select array_agg(q.tenant_id order by q.unit_id) filter (where s.unit_id is null),
        array_agg(q.unit_id order by q.unit_id) filter (where s.unit_id is null), count(s.unit_id) > 0
    into tenant_ids, unit_ids, is_short
    from (select distinct x.tenant_id, x.unit_id from unnest(p_tenant_ids, p_unit_ids) as x (tenant_id, unit_id)) as q
    left join short as s on q.tenant_id = s.tenant_id and q.unit_id = s.unit_id;
end
$$;

-- Locks free-standing units without waiting, their ready rows first: a claim holds the ready row and then locks the unit.
-- Returns those that somebody else has locked.
-- Locks: job_ready rows, then units.
create or replace function stepwell._jobs_lock_free(
    p_tenant_ids int[], p_unit_ids bigint[], out tenant_ids int[], out unit_ids bigint[]
)
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_alone_tenant_ids int[];
    v_alone_ids bigint[];
    v_queued_tenant_ids int[];
    v_queued_ids bigint[];
    v_ready_ids bigint[];
    v_held_ids bigint[];
begin
    select array_agg(u.tenant_id), array_agg(u.unit_id),
        array_agg(r.tenant_id) filter (where r.unit_id is not null), array_agg(r.unit_id) filter (where r.unit_id is not null)
    into v_alone_tenant_ids, v_alone_ids, v_queued_tenant_ids, v_queued_ids
    from (
        select distinct q.tenant_id, q.unit_id
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        where stepwell._unit_no(q.unit_id) = 0
    ) as s
    inner join stepwell.work_unit as u on s.tenant_id = u.tenant_id and s.unit_id = u.unit_id
    left join stepwell.job_ready as r
        on u.executor_class_id = r.executor_class_id and u.tenant_id = r.tenant_id
            and r.workspace_id = stepwell._workspace_of(u.tenant_id, u.unit_id) and r.rank = -u.priority and u.operation_id = r.operation_id
            and u.unit_id = r.unit_id
    where u.scope not in ('workflow_run', 'step', 'task');
    if v_alone_ids is null then
        return;
    end if;
    if v_queued_ids is not null then
        select array_agg(l.unit_id) into v_ready_ids
        from (
            select r.unit_id
            from unnest(v_queued_tenant_ids, v_queued_ids) as q (tenant_id, unit_id)
            inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
            inner join stepwell.job_ready as r
                on u.executor_class_id = r.executor_class_id and u.tenant_id = r.tenant_id
                    and r.workspace_id = stepwell._workspace_of(u.tenant_id, u.unit_id) and r.rank = -u.priority
                    and u.operation_id = r.operation_id and u.unit_id = r.unit_id
            order by r.tenant_id, r.unit_id
            for update of r skip locked
        ) as l;
    end if;
    select array_agg(l.unit_id) into v_held_ids
    from (
        select u.unit_id
        from unnest(v_alone_tenant_ids, v_alone_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        where not q.unit_id = any (coalesce(v_queued_ids, '{}')) or q.unit_id = any (coalesce(v_ready_ids, '{}'))
        order by u.tenant_id, u.unit_id
        for update of u skip locked
    ) as l;
    select array_agg(q.tenant_id), array_agg(q.unit_id) into tenant_ids, unit_ids
    from unnest(v_alone_tenant_ids, v_alone_ids) as q (tenant_id, unit_id)
    where not q.unit_id = any (coalesce(v_held_ids, '{}'));
end
$$;
