-- The milestones of a run: which are reached, and when the others are expected, from past runs of the workflow.

-- The milestones of a run in the order of its steps: reached (with the time), skipped, missed, or expected. An expected one has
-- a time if at least three of the newest completed runs of the workflow reached a milestone of this name: after what half of
-- them took, or after what nine of ten took once that has passed.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing; an empty list when there is no such run.
create or replace function stepwell.fn_run_milestones(p_tenant_id int, p_run_id bigint) returns json
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_run record;
    v_found json;
begin
    select r.version_id, r.workflow_id, r.created_at, r.finished_at into v_run
    from stepwell.run_detail as r where r.tenant_id = p_tenant_id and r.run_id = p_run_id;
    -- Most workflows have none, and then nothing of past runs is read.
    if not exists (select from stepwell.workflow_step_def as d
        where d.tenant_id = p_tenant_id and d.version_id = v_run.version_id and d.config ? 'milestone') then
        return '[]'::json;
    end if;
    -- The numbers of units are worked out first: row level security lets no sum of another row into an index.
    with mine as materialized (
        select d.step_no, d.config ->> 'milestone' as name, stepwell._run_unit(p_run_id) + d.step_no as unit_id
        from stepwell.workflow_step_def as d
        where d.tenant_id = p_tenant_id and d.version_id = v_run.version_id and d.config ? 'milestone'
    ), past_run as materialized (
        select x.run_id, x.version_id, x.created_at
        from (
            select o.run_id, o.version_id, o.created_at, o.finished_state
            from stepwell.run_detail as o
            where o.tenant_id = p_tenant_id and o.workflow_id = v_run.workflow_id and o.finished_at is not null and o.run_id <> p_run_id
                and v_run.finished_at is null
            order by o.run_id desc limit 100
        ) as x
        where x.finished_state = 'completed'
    ), past_def as materialized (
        select d.version_id, d.step_no, d.config ->> 'milestone' as name
        from stepwell.workflow_step_def as d
        where d.tenant_id = p_tenant_id and d.config ? 'milestone' and d.version_id in (select p.version_id from past_run as p)
    ), past_unit as materialized (
        select d.name, p.created_at, stepwell._run_unit(p.run_id) + d.step_no as unit_id
        from past_run as p
        inner join past_def as d on p.version_id = d.version_id
    ), past as (
        select x.name, count(*) as runs,
            percentile_cont(0.5) within group (order by extract(epoch from u.completed_at - x.created_at)) as median_seconds,
            percentile_cont(0.9) within group (order by extract(epoch from u.completed_at - x.created_at)) as slow_seconds
        from past_unit as x
        inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and x.unit_id = u.unit_id and u.state_code = 'completed'
        group by x.name
    ), now_ as (
        select m.step_no, m.name, u.completed_at, case when u.state_code = 'completed' then 'reached' when u.state_code = 'skipped' then 'skipped'
            when v_run.finished_at is not null or s.is_terminal then 'missed' else 'expected' end as state
        from mine as m
        inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and m.unit_id = u.unit_id
        inner join stepwell.state_def as s on u.state_machine_id = s.state_machine_id and u.state_code = s.state_code
    )
    select json_agg(json_build_object('no', n.step_no, 'name', n.name, 'state', n.state,
        'reached_at', case when n.state = 'reached' then n.completed_at end,
        'expected_at', case when n.state = 'expected' and p.runs >= 3 then v_run.created_at + make_interval(secs =>
            case when v_run.created_at + make_interval(secs => p.median_seconds) < stepwell.now() then p.slow_seconds else p.median_seconds end) end)
        order by n.step_no)
    into v_found
    from now_ as n
    left join past as p on n.name = p.name;
    return coalesce(v_found, '[]');
end
$$;
