-- Purpose: faults of the counters of runs against a recount of their steps, of the colour against the counters, and
--   of pending counts against the predecessors that have not ended.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._invariant_counts()
returns table (invariant text, fault text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with recount as (
        select
            u.tenant_id, u.unit_id >> 20 as run_id,
            count(*) filter (where not d.is_terminal and u.state_code <> 'cannot_complete') as open_count,
            count(*) filter (where u.mandatory) as mandatory_count,
            count(*) filter (where u.mandatory and k.class = 'idle') as idle_count,
            count(*) filter (where u.mandatory and k.class = 'active') as active_count,
            count(*) filter (where u.mandatory and k.class = 'wait') as wait_count,
            count(*) filter (where u.mandatory and k.class = 'red') as red_count,
            count(*) filter (where u.mandatory and u.state_code = 'completed') as completed_count,
            count(*) filter (where u.state_code = 'skipped') as skipped_count,
            count(*) filter (where u.mandatory and u.state_code = 'cannot_complete' and not u.failure_caught) as failed_count
        from stepwell.work_unit as u
        inner join stepwell.state_def as d on u.state_machine_id = d.state_machine_id and u.state_code = d.state_code
        cross join lateral (select case when u.blocked_escalated then 'red'
            else coalesce(u.lent_class, d.semantic_class) end as class) as k
        where u.scope = 'step'
        group by u.tenant_id, u.unit_id >> 20
    )
    select 'counters_equal_a_recount', format('run %s, %s: counted %s, recounted %s', p.run_id, c.name, c.kept, c.found)
    from stepwell.run_progress as p
    left join recount as r on p.tenant_id = r.tenant_id and p.run_id = r.run_id
    cross join lateral (values
        ('open_count', p.open_count, r.open_count), ('mandatory_count', p.mandatory_count, r.mandatory_count),
        ('idle_count', p.idle_count, r.idle_count), ('active_count', p.active_count, r.active_count),
        ('wait_count', p.wait_count, r.wait_count), ('red_count', p.red_count, r.red_count),
        ('completed_count', p.completed_count, r.completed_count), ('skipped_count', p.skipped_count, r.skipped_count),
        ('failed_count', p.failed_count, r.failed_count)
    ) as c (name, kept, found)
    where c.kept <> coalesce(c.found, 0)
    union all
    select 'counters_equal_a_recount', format('run %s is %s, its counters say %s', p.run_id, p.rollup_state_code,
        stepwell._rollup_colour(p.red_count, p.wait_count, p.active_count))
    from stepwell.run_progress as p
    where p.frozen_at is null
        and p.rollup_state_code <> stepwell._rollup_colour(p.red_count, p.wait_count, p.active_count)
    union all
    select 'counters_equal_a_recount', format('step %s counts as %s, its run %s is %s', s.unit_id,
        coalesce(s.lent_class, d.semantic_class), p.run_id, p.rollup_state_code)
    from stepwell.run_progress as p
    inner join stepwell.work_unit as w on p.tenant_id = w.tenant_id and p.run_id << 20 = w.unit_id
    inner join stepwell.work_unit as s on w.tenant_id = s.tenant_id and w.parent_id = s.unit_id
    inner join stepwell.state_def as d on s.state_machine_id = d.state_machine_id and s.state_code = d.state_code
    where p.parent_run_id is not null and w.state_code in ('in_progress', 'paused')
        and s.state_code in ('in_progress', 'waiting') and s.mandatory and coalesce(s.lent_class, d.semantic_class)
            <> case p.rollup_state_code when 'red' then 'red' when 'yellow' then 'wait' else 'active' end
    union all
    select 'pending_counts_equal_unfinished_predecessors', format('step %s waits for %s, %s have not ended',
        u.unit_id, u.pending_count, b.unfinished_count)
    from stepwell.work_unit as u
    cross join lateral (
        select count(*) as unfinished_count
        from stepwell.workflow_step_relations as r
        inner join stepwell.work_unit as b
            on b.tenant_id = u.tenant_id and b.unit_id = u.unit_id + r.from_no - u.def_no
        where r.tenant_id = u.tenant_id and r.version_id = u.version_id and r.to_no = u.def_no
            -- A step that failed releases nothing but a decision that catches it; all others it takes along.
            and b.state_code not in ('completed', 'skipped', 'cancelled', 'cannot_complete')
    ) as b
    where u.scope = 'step' and u.state_code = 'not_started' and u.pending_count <> b.unfinished_count
$$;
