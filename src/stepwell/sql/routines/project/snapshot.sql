-- A run in one answer: what a page or a phone shows of it. Columns instead of rows: one array for each field, and what few
-- steps have by the number of the step. Texts, colours and icons of states are in the registry; here are only their codes.

-- The snapshot of a run: states, facets, people, deadlines, pinned content, roll-up, critical path, expected end, milestones, hash of the
-- drawing, and the position of the log from which a stream continues. Everything is read in one statement, so that all of
-- it belongs to this position.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when there is no such run; SW007 for another tenant.
create or replace function stepwell.fn_workflow_run_snapshot(
    p_tenant_id int, p_run_id bigint, p_lanes_by text default 'role', p_layout_version int default 1
) returns json
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_run record;
    v_steps json;
    v_found json;
begin
    select r.run_id, u.state_code, u.unit_id, u.priority, p as progress, stepwell.version_hash(v.version_id, v.graph_hash) as graph_hash, v.version_no, v.step_count, w.workflow_name,
        v.title, r.trigger_type,
        r.trigger_ref, r.started_by, r.created_at, u.started_at, r.finished_at, u.deadline_at, stepwell._run_of(r.parent_unit_id) as parent_run_id,
        s.workspace_name, r.workflow_id
    into v_run
    from stepwell.run_detail as r
    -- Row level security lets no function of another row into an index, so the number of the unit comes from the parameter.
    inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and u.unit_id = stepwell._run_unit(p_run_id)
    inner join stepwell.run_progress as p on r.tenant_id = p.tenant_id and r.run_id = p.run_id
    inner join stepwell.workflow_version as v on r.tenant_id = v.tenant_id and r.version_id = v.version_id
    inner join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
    left join stepwell.workspace as s on p.tenant_id = s.tenant_id and p.workspace_id = s.workspace_id
    where r.tenant_id = p_tenant_id and r.run_id = p_run_id;
    if not found then
        raise exception using errcode = 'SW002', column = 'run', message = format('run %s does not exist', p_run_id);
    end if;
    select c.shown into v_steps from stepwell.fn_run_steps_columns(p_tenant_id, array[p_run_id]) as c;
    select json_build_object(
        'run', json_build_object('run_id', p_run_id, 'workflow', v_run.workflow_name, 'title', v_run.title, 'version_no', v_run.version_no,
            'state', v_run.state_code, 'colour', (v_run.progress).rollup_state_code, 'key', v_run.trigger_ref, 'source', v_run.trigger_type,
            'started_by', v_run.started_by, 'workspace', v_run.workspace_name, 'priority', v_run.priority,
            'parent_run_id', v_run.parent_run_id, 'labels', stepwell._labels_of(p_tenant_id, p_run_id), 'created_at', v_run.created_at,
            'started_at', v_run.started_at, 'finished_at', v_run.finished_at, 'frozen_at', (v_run.progress).frozen_at,
            'deadline_at', v_run.deadline_at, 'counts', stepwell._progress_counts(v_run.progress)),
        'position', pg_current_snapshot()::text,
        'last_event_id', (select e.event_id from stepwell.event_log as e where e.tenant_id = p_tenant_id and e.run_id = p_run_id
            order by e.event_id desc limit 1),
        'now', stepwell.now(), 'at', null,
        'layout_hash', stepwell._layout_hash(v_run.graph_hash, p_lanes_by, p_layout_version), 'graph_hash', v_run.graph_hash,
        'rollup', stepwell._rollup_numbers(p_tenant_id, p_run_id, v_run.progress),
        'critical_path', array(select stepwell._unit_no(c.unit_id) from stepwell.fn_run_critical_path(p_tenant_id, p_run_id) as c order by c.place),
        'behind', (select coalesce(json_object_agg(stepwell._unit_no(b.unit_id), stepwell._unit_no(b.blocker_unit_id)), '{}')
            from stepwell.fn_run_blocked_downstream(p_tenant_id, p_run_id) as b),
        'expected_end', stepwell.fn_run_expected_end(p_tenant_id, p_run_id), 'milestones', stepwell.fn_run_milestones(p_tenant_id, p_run_id),
        'expected_steps', case when v_run.finished_at is null then stepwell.fn_run_expected_steps(p_tenant_id, p_run_id) end,
        'why', case when v_run.finished_at is null then (select json_build_object('code', y.code, 'en', y.sentence_en, 'vi', y.sentence_vi,
            'who', y.who) from stepwell.fn_why_not_running(v_run.unit_id, p_tenant_id) as y) end,
        'actions', stepwell.fn_actions_read(p_tenant_id, v_run.unit_id))
    into v_found;
    -- Two objects become one without reading the large one again.
    return (left(v_found::text, -1) || ', ' || substr(v_steps::text, 2))::json;
end
$$;

-- The counters of a run, as its snapshot shows them.
create or replace function stepwell._progress_counts(p_progress stepwell.run_progress) returns json
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select json_build_object('open', p_progress.open_count, 'mandatory', p_progress.mandatory_count, 'idle', p_progress.idle_count,
        'active', p_progress.active_count, 'wait', p_progress.wait_count, 'red', p_progress.red_count,
        'completed', p_progress.completed_count, 'skipped', p_progress.skipped_count, 'failed', p_progress.failed_count)
$$;

-- The step that decides the colour of a run: the first one of the class that gives it. The counters say which class that is, so
-- that the steps are read only up to it.
create or replace function stepwell._rollup_numbers(p_tenant_id int, p_run_id bigint, p_progress stepwell.run_progress) returns json
language sql stable
set search_path = stepwell, pg_temp
as $$
    select json_build_object('red', p_progress.red_count, 'yellow', p_progress.wait_count, 'green', p_progress.active_count,
        'skipped', p_progress.skipped_count, 'decisive_no', (
            select stepwell._unit_no(f.unit_id)
            from stepwell.rollup_rule as r
            cross join lateral (
                select u.unit_id
                from stepwell.work_unit as u
                inner join stepwell.state_def as s on u.state_machine_id = s.state_machine_id and u.state_code = s.state_code
                where u.tenant_id = p_tenant_id and u.scope = 'step' and u.mandatory
                    and u.unit_id between stepwell._run_unit(p_run_id) + 1 and stepwell._run_last(p_run_id)
                    and r.semantic_class = case when u.blocked_escalated then 'red' else s.semantic_class end
                order by u.unit_id limit 1) as f
            where case r.semantic_class when 'red' then p_progress.red_count when 'wait' then p_progress.wait_count
                when 'active' then p_progress.active_count else 0 end > 0
            order by r.rank limit 1))
$$;

-- When the run is expected to end: after the time that half of the newest completed runs of its workflow took. Nothing with
-- fewer than three of them.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing; null when there is no such run.
create or replace function stepwell.fn_run_expected_end(p_tenant_id int, p_run_id bigint) returns json
language sql stable
set search_path = stepwell, pg_temp
as $$
    with past as (
        select extract(epoch from x.finished_at - x.created_at) as seconds
        from (
            -- One value, not a join: so the index of the workflow gives its newest runs, however many others there are.
            select o.finished_at, o.created_at, o.finished_state
            from stepwell.run_detail as o
            where o.tenant_id = p_tenant_id and o.workflow_id = (select r.workflow_id from stepwell.run_detail as r
                    where r.tenant_id = p_tenant_id and r.run_id = p_run_id)
                and o.finished_at is not null and o.run_id <> p_run_id
            order by o.run_id desc limit 100
        ) as x
        where x.finished_state = 'completed'
    ), size as (
        select count(*) as past_runs, percentile_cont(0.5) within group (order by p.seconds) as median_seconds,
            percentile_cont(0.9) within group (order by p.seconds) as slow_seconds
        from past as p
    )
    select json_build_object(
        'at', case when z.past_runs >= 3 and r.finished_at is null
            then greatest(r.created_at + make_interval(secs => z.median_seconds::float8), case when r.created_at
                + make_interval(secs => z.median_seconds::float8) < stepwell.now() then r.created_at + make_interval(secs => z.slow_seconds::float8) end) end,
        'past_runs', z.past_runs, 'median_seconds', round(z.median_seconds::numeric, 3), 'slow_seconds', round(z.slow_seconds::numeric, 3))
    from size as z
    cross join stepwell.run_detail as r
    where r.tenant_id = p_tenant_id and r.run_id = p_run_id
$$;

-- When the open steps of a run are expected to begin and to end, as columns, in milliseconds after its start: the median of the
-- three newest completed runs of the same version. A step that has begun takes as long as it took them. Steps to come keep their
-- distances; when the first of them is late, all of them are as late. Steps that only one of those runs carried out are left out.
-- Null with fewer than three runs.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing; null when there is no such run.
create or replace function stepwell.fn_run_expected_steps(p_tenant_id int, p_run_id bigint) returns json
language sql stable
set search_path = stepwell, pg_temp
as $$
    with this as materialized (
        select r.workflow_id, r.version_id, r.created_at, (date_part('epoch', stepwell.now() - r.created_at) * 1000)::bigint as now_ms
        from stepwell.run_detail as r
        where r.tenant_id = p_tenant_id and r.run_id = p_run_id
    ), past as materialized (
        select o.created_at, stepwell._run_unit(o.run_id) + 1 as first_id, stepwell._run_last(o.run_id) as last_id, count(*) over () as run_count
        from (
            select x.run_id, x.created_at from (
                select o.run_id, o.created_at, o.finished_state, o.version_id = (select t.version_id from this as t) as is_same
                from stepwell.run_detail as o
                where o.tenant_id = p_tenant_id and o.workflow_id = (select t.workflow_id from this as t) and o.finished_at is not null
                    and o.run_id <> p_run_id
                order by o.run_id desc limit 100
            ) as x
            where x.finished_state = 'completed' and x.is_same
            order by x.run_id desc limit 3
        ) as o
    ), seen as (
        select x.def_no, x.start_s, x.work_s, null::int as no, null::float8 as started_s
        from past as p
        cross join lateral (
            select u.def_no, date_part('epoch', u.started_at - p.created_at) as start_s, date_part('epoch', u.completed_at - u.started_at) as work_s
            from stepwell.work_unit as u
            where u.tenant_id = p_tenant_id and u.unit_id between p.first_id and p.last_id and p.run_count = 3 and u.scope = 'step'
                and u.item_no is null and u.started_at is not null and u.completed_at is not null
            offset 0
        ) as x
        union all
        select u.def_no, null, null, stepwell._unit_no(u.unit_id), date_part('epoch', u.started_at - (select t.created_at from this as t))
        from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id between stepwell._run_unit(p_run_id) + 1 and stepwell._run_last(p_run_id)
            and u.scope = 'step' and u.item_no is null and not stepwell._has_ended(u.state_code)
    ), pace as (
        -- One group for each step of the graph: no join of thousands of steps, whatever the planner believes of the tables. The
        -- middle one of three, or half way between two, needs no sort.
        select max(x.no) as no, (max(x.started_s) * 1000)::bigint as started_ms,
            (case when count(x.start_s) = 3 then sum(x.start_s) - min(x.start_s) - max(x.start_s) else sum(x.start_s) / 2 end * 1000)::bigint as start_ms,
            (case when count(x.start_s) = 3 then sum(x.work_s) - min(x.work_s) - max(x.work_s) else sum(x.work_s) / 2 end * 1000)::bigint as work_ms
        from seen as x
        group by x.def_no
        having max(x.no) is not null and count(x.start_s) between 2 and 3
    ), open_step as (
        select c.no, c.started_ms, c.start_ms, c.work_ms, t.now_ms,
            greatest(0, t.now_ms - min(c.start_ms) filter (where c.started_ms is null) over ()) as late_ms
        from pace as c
        cross join this as t
    ), expected as (
        select s.no, coalesce(s.started_ms, s.start_ms + s.late_ms) as from_ms,
            case when s.started_ms is null then s.start_ms + s.late_ms + s.work_ms
                else greatest(s.now_ms, s.started_ms + s.work_ms) end as to_ms
        from open_step as s
    )
    select json_build_object('past_runs', (select max(p.run_count) from past as p), 'no', array_agg(e.no order by e.no),
        'from', array_agg(e.from_ms order by e.no), 'to', array_agg(e.to_ms order by e.no))
    from expected as e
    having count(*) > 0
$$;

-- The steps of runs as columns, as a snapshot shows them: all steps of one run, or these units of several. One pass over the
-- steps, however many runs they are of; the codes of states and facets and the names of people are those of the whole call.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_run_steps_columns(p_tenant_id int, p_run_ids bigint[], p_unit_ids bigint[] default null)
returns table (run_id bigint, shown json)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with own_run as materialized (
        select r.run_id, r.created_at from stepwell.run_detail as r where r.tenant_id = p_tenant_id and r.run_id = any (p_run_ids)
    ), unit as materialized (
        select u.unit_id, u.scope, u.def_no, u.item_no, u.parent_id, u.state_code, u.waiting_facet, u.waiting_facets, u.pic_id, u.started_at,
            u.completed_at, u.attempt_count, u.max_attempts, u.deadline_at, u.overdue_first_at, u.completed_after_deadline, u.blocked_escalated,
            u.failure_class, u.executor_class_id, u.lease_no
        from stepwell.work_unit as u
        where p_unit_ids is null and u.tenant_id = p_tenant_id
            and u.unit_id between stepwell._run_unit(p_run_ids[1]) + 1 and stepwell._run_last(p_run_ids[1])
        union all
        select u.unit_id, u.scope, u.def_no, u.item_no, u.parent_id, u.state_code, u.waiting_facet, u.waiting_facets, u.pic_id, u.started_at,
            u.completed_at, u.attempt_count, u.max_attempts, u.deadline_at, u.overdue_first_at, u.completed_after_deadline, u.blocked_escalated,
            u.failure_class, u.executor_class_id, u.lease_no
        from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = any (p_unit_ids)
    ), step as materialized (
        select x.*, stepwell._unit_no(x.unit_id) as no, stepwell._run_of(x.unit_id) as run_id,
            stepwell._attempt_no(x.state_code, x.attempt_count, x.started_at) as attempt_no
        from unit as x
        where x.scope = 'step'
        order by x.unit_id
    ), word as materialized (
        select array_agg(distinct s.state_code) as states, array_agg(distinct s.waiting_facet) filter (where s.waiting_facet is not null) as facets,
            array_agg(distinct s.pic_id) filter (where s.pic_id is not null) as pics
        from step as s
    ), timed as (
        select n.run_id, json_object_agg(n.no, n.due_at) as next_at from (
            select s.run_id, s.no, min(t.due_at) as due_at from step as s
            inner join stepwell.timer as t on t.tenant_id = p_tenant_id and s.unit_id = t.unit_id and t.timer_kind in ('start', 'retry', 'sleep')
            where s.state_code in ('ready', 'failed', 'waiting', 'not_started') group by s.run_id, s.no) as n
        group by n.run_id
    ), child as (
        select n.run_id, json_object_agg(n.no, n.child_id) as children from (
            select s.run_id, s.no, max(stepwell._run_of(c.unit_id)) as child_id from step as s
            inner join stepwell.work_unit as c on c.tenant_id = p_tenant_id and s.unit_id = c.parent_id and c.scope = 'workflow_run'
            where s.executor_class_id is null group by s.run_id, s.no) as n
        group by n.run_id
    ), pinned as (
        select s.run_id, json_object_agg(s.no, json_build_array(i.iu_code, p.version_no)) as pins from step as s
        inner join stepwell.step_content_pin as p on p.tenant_id = p_tenant_id and s.run_id = p.run_id and s.def_no = p.step_no
        inner join stepwell.information_unit as i on p.tenant_id = i.tenant_id and p.iu_id = i.iu_id
        group by s.run_id
    ), asked as (
        select s.run_id, json_object_agg(s.no, a.approval_id::text) as approvals from step as s
        inner join stepwell.approval_detail as a on a.tenant_id = p_tenant_id and s.unit_id = a.subject_unit_id and a.decided_at is null
        where s.state_code = 'waiting'
        group by s.run_id
    ), told as (
        select s.run_id, json_object_agg(s.no, json_build_object('done', p.done, 'total', p.total, 'note', p.note)) as progress from step as s
        inner join stepwell.unit_progress as p on p.tenant_id = p_tenant_id and s.unit_id = p.unit_id and s.lease_no = p.lease_no
        where s.state_code in ('in_progress', 'overdue')
        group by s.run_id
    ), shown as (
        -- The steps come in the order of their numbers, so that no aggregate has to sort them.
        select s.run_id,
            json_build_object('no', array_agg(s.no), 'def', array_agg(s.def_no),
                'state', array_agg(array_position(w.states, s.state_code) - 1),
                'facet', array_agg(array_position(w.facets, s.waiting_facet) - 1),
                'started', array_agg((date_part('epoch', s.started_at - r.created_at) * 1000)::bigint),
                'ended', array_agg((date_part('epoch', s.completed_at - r.created_at) * 1000)::bigint),
                'pic', array_agg(array_position(w.pics, s.pic_id) - 1)) as steps,
            json_object_agg(s.no, json_build_array(stepwell._unit_no(s.parent_id), s.item_no)) filter (where s.item_no is not null) as items,
            json_object_agg(s.no, to_json(s.waiting_facets)) filter (where cardinality(s.waiting_facets) > 1) as facets_more,
            json_object_agg(s.no, json_build_array(s.attempt_no, s.max_attempts)) filter (where s.attempt_no > 1) as attempts,
            json_object_agg(s.no, s.deadline_at) filter (where s.deadline_at is not null) as deadlines,
            array_agg(s.no) filter (where s.overdue_first_at is not null and s.completed_at is null) as overdue,
            array_agg(s.no) filter (where s.completed_after_deadline) as late,
            array_agg(s.no) filter (where s.blocked_escalated) as escalated,
            json_object_agg(s.no, s.failure_class) filter (
                where s.failure_class is not null and s.state_code not in ('completed', 'skipped')) as failures
        from step as s
        cross join word as w
        inner join own_run as r on s.run_id = r.run_id
        group by s.run_id
    )
    select g.run_id, json_build_object(
        'states', coalesce(to_json(w.states), '[]'), 'facets', coalesce(to_json(w.facets), '[]'),
        'people', array(select stepwell._person_name(p_tenant_id, x.pic_id) from unnest(w.pics) with ordinality as x (pic_id, place) order by x.place),
        'steps', coalesce(s.steps, '{"no": [], "def": [], "state": [], "facet": [], "started": [], "ended": [], "pic": []}'),
        'items', coalesce(s.items, '{}'), 'facets_more', coalesce(s.facets_more, '{}'), 'attempts', coalesce(s.attempts, '{}'),
        'deadlines', coalesce(s.deadlines, '{}'), 'overdue', coalesce(s.overdue, '{}'), 'late', coalesce(s.late, '{}'),
        'escalated', coalesce(s.escalated, '{}'), 'failures', coalesce(s.failures, '{}'), 'next_at', coalesce(t.next_at, '{}'),
        'children', coalesce(c.children, '{}'), 'pins', coalesce(p.pins, '{}'), 'approvals', coalesce(a.approvals, '{}'),
        'progress', coalesce(o.progress, '{}'))
    from unnest(p_run_ids) as g (run_id)
    cross join word as w
    left join shown as s on g.run_id = s.run_id
    left join timed as t on g.run_id = t.run_id
    left join child as c on g.run_id = c.run_id
    left join pinned as p on g.run_id = p.run_id
    left join asked as a on g.run_id = a.run_id
    left join told as o on g.run_id = o.run_id
$$;

-- What a stream shows of runs whose units changed: state, colour and counters of each run, and the columns of these units.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_run_changes(p_tenant_id int, p_run_ids bigint[], p_unit_ids bigint[])
returns table (run_id bigint, changes json)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select r.run_id, (left(json_build_object('state', u.state_code, 'colour', p.rollup_state_code, 'counts', stepwell._progress_counts(p),
        'finished_at', r.finished_at, 'frozen_at', p.frozen_at)::text, -1) || ', ' || substr(c.shown::text, 2))::json
    from (select x.run_id, x.shown, stepwell._run_unit(x.run_id) as run_unit_id from stepwell.fn_run_steps_columns(p_tenant_id,
        array(select distinct q.run_id from unnest(p_run_ids) as q (run_id)), p_unit_ids) as x offset 0) as c
    inner join stepwell.run_detail as r on r.tenant_id = p_tenant_id and c.run_id = r.run_id
    inner join stepwell.run_progress as p on p.tenant_id = p_tenant_id and c.run_id = p.run_id
    inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.unit_id = c.run_unit_id
$$;
