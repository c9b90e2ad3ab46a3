-- Purpose: open units nothing will ever move. A cheap look finds the few that are in none of the usual places; of those
--   fn_why_not_running decides.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._invariant_explained()
returns table (invariant text, fault text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with suspect as (
        select u.tenant_id, u.unit_id
        from stepwell.work_unit as u
        where u.scope in ('step', 'task', 'job') and (
            (u.state_code in ('ready', 'failed') and not exists (
                select from stepwell.job_ready as r where r.tenant_id = u.tenant_id and r.class_id = u.class_id
                    and r.rank = -u.priority and r.unit_id = u.unit_id))
            or (u.state_code = 'waiting' and not exists (
                select from stepwell.event_wait as w where w.tenant_id = u.tenant_id and w.unit_id = u.unit_id))
            or (u.state_code = 'not_started' and (u.pending_count = 0 or exists (
                select from stepwell.workflow_step_relations as r
                inner join stepwell.work_unit as b
                    on b.tenant_id = u.tenant_id and b.unit_id = u.unit_id + r.from_no - u.def_no
                where r.tenant_id = u.tenant_id and r.version_id = u.version_id and r.to_no = u.def_no
                    and b.state_code in ('cancelled', 'cannot_complete')))))
    )
    select 'every_open_unit_is_explained', w.sentence_en
    from suspect as s
    cross join lateral stepwell.fn_why_not_running(s.unit_id, s.tenant_id) as w
    where w.code = 'unexplained'
    union all
    select 'every_open_unit_is_explained', format('step %s can never start: a step before it %s', u.unit_id, b.state_code)
    from suspect as s
    inner join stepwell.work_unit as u on s.tenant_id = u.tenant_id and s.unit_id = u.unit_id
    inner join stepwell.workflow_step_def as d
        on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    inner join stepwell.workflow_step_relations as r
        on u.tenant_id = r.tenant_id and u.version_id = r.version_id and u.def_no = r.to_no
    inner join stepwell.work_unit as b on b.tenant_id = u.tenant_id and b.unit_id = u.unit_id + r.from_no - u.def_no
    -- A decision may catch the failure of what comes before it.
    where u.state_code = 'not_started' and d.step_kind <> 'decision' and b.state_code in ('cancelled', 'cannot_complete')
    union all
    select 'every_open_unit_is_explained', format('run %s is in progress, and every step of it has ended', p.run_id)
    from stepwell.run_progress as p
    inner join stepwell.work_unit as u on p.tenant_id = u.tenant_id and p.run_id << 20 = u.unit_id
    where u.state_code = 'in_progress' and p.open_count = 0
$$;
