-- A run in time: its snapshot in the past, how many events there were when, and what each step did from when to when.

-- The snapshot of a run after an event, or at a time: only states, from the log alone. Its `now` is that time, or that of the
-- last change until then.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: as fn_run_state_at.
create or replace function stepwell.fn_workflow_run_snapshot_at(
    p_tenant_id int, p_run_id bigint, p_event_id bigint default null, p_at timestamptz default null
) returns json
language sql stable
set search_path = stepwell, pg_temp
as $$
    with then_ as materialized (
        select s.unit_id, s.scope, s.state_code, s.item_no, s.since_at, stepwell._unit_no(s.unit_id) as no
        from stepwell.fn_run_state_at(p_tenant_id, p_run_id, p_event_id, p_at) as s
    ), step as (
        select t.no, u.def_no, t.state_code, t.item_no, stepwell._unit_no(u.parent_id) as parent_no
        from then_ as t
        inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and t.unit_id = u.unit_id
        where t.scope = 'step'
    ), word as (
        select array_agg(distinct s.state_code) as states from step as s
    )
    select json_build_object(
        'run', json_build_object('run_id', p_run_id, 'workflow', w.workflow_name, 'title', v.title, 'version_no', v.version_no, 'state', (
                select t.state_code from then_ as t where t.scope = 'workflow_run'), 'colour', null, 'key', r.trigger_ref,
            'source', r.trigger_type, 'started_by', r.started_by, 'labels', stepwell._labels_of(p_tenant_id, p_run_id),
            'created_at', r.created_at, 'counts', null),
        'position', null, 'last_event_id', p_event_id, 'now', coalesce(p_at, (select max(t.since_at) from then_ as t), r.created_at),
        'at', json_build_object('event_id', p_event_id, 'time', p_at), 'graph_hash', stepwell.version_hash(v.version_id, v.graph_hash), 'rollup', null,
        'critical_path', json_build_array(), 'expected_end', null, 'milestones', stepwell._milestones_then(p_tenant_id, r.version_id,
            array(select t.no from then_ as t where t.scope = 'step' order by t.no), array(select t.state_code from then_ as t where t.scope = 'step' order by t.no),
            array(select t.since_at from then_ as t where t.scope = 'step' order by t.no)), 'why', null, 'people', json_build_array(),
        'states', coalesce(to_json(d.states), '[]'), 'facets', json_build_array(),
        'steps', (select json_build_object('no', coalesce(array_agg(s.no order by s.no), '{}'), 'def', coalesce(array_agg(s.def_no order by s.no), '{}'),
            'state', coalesce(array_agg(array_position(d.states, s.state_code) - 1 order by s.no), '{}')) from step as s),
        'items', (select coalesce(json_object_agg(s.no, json_build_array(s.parent_no, s.item_no)), '{}') from step as s where s.item_no is not null))
    from word as d
    cross join stepwell.run_detail as r
    inner join stepwell.workflow_version as v on r.tenant_id = v.tenant_id and r.version_id = v.version_id
    inner join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
    where r.tenant_id = p_tenant_id and r.run_id = p_run_id
$$;

-- The milestones of a past moment: what was reached until then; nothing is expected there.
create or replace function stepwell._milestones_then(p_tenant_id int, p_version_id int, p_nos int[], p_states text[], p_since timestamptz[])
returns json
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce(json_agg(json_build_object('no', d.step_no, 'name', d.config ->> 'milestone',
        'state', case x.state when 'completed' then 'reached' when 'skipped' then 'skipped' else 'expected' end,
        'reached_at', case x.state when 'completed' then x.since_at end, 'expected_at', null) order by d.step_no), '[]')
    from unnest(p_nos, p_states, p_since) as x (no, state, since_at)
    inner join stepwell.workflow_step_def as d
        on d.tenant_id = p_tenant_id and d.version_id = p_version_id and x.no = d.step_no and d.config ? 'milestone'
$$;

-- How many events a run had in each part of its time, the first event of each part, and events that people look for (marks:
-- at most p_marks, trouble before the rest).
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW001 for a wrong number of buckets; SW002 when there is no such run.
create or replace function stepwell.fn_run_density(p_tenant_id int, p_run_id bigint, p_buckets int default 120, p_marks int default 200)
returns json
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_run record;
    v_milestones int[];
    v_found json;
begin
    if p_buckets is null or p_buckets not between 1 and 1000 then
        raise exception using errcode = 'SW001', column = 'buckets', message = 'buckets: 1 to 1000 are accepted';
    end if;
    select r.created_at as from_at, coalesce(r.finished_at, stepwell.now()) as to_at, r.version_id into v_run
    from stepwell.run_detail as r where r.tenant_id = p_tenant_id and r.run_id = p_run_id;
    if not found then
        raise exception using errcode = 'SW002', column = 'run', message = format('run %s does not exist', p_run_id);
    end if;
    v_milestones := array(select d.step_no from stepwell.workflow_step_def as d
        where d.tenant_id = p_tenant_id and d.version_id = v_run.version_id and d.config ? 'milestone');
    with event as materialized (
        select e.event_id, e.at, e.event_type, e.to_state, e.unit_id, e.actor_class,
            greatest(0, least(p_buckets - 1, floor(extract(epoch from e.at - v_run.from_at)
                / greatest(extract(epoch from v_run.to_at - v_run.from_at), 0.001) * p_buckets)::int)) as bucket
        from stepwell.event_log as e
        where e.tenant_id = p_tenant_id and e.run_id = p_run_id
    ), bucket as (
        select b.no, count(e.event_id) as events, min(e.event_id) as first_event_id
        from generate_series(0, p_buckets - 1) as b (no)
        left join event as e on b.no = e.bucket
        group by b.no
    ), mark as (
        select e.event_id, e.at, e.event_type, stepwell._unit_no(e.unit_id) as no, k.kind, k.rank
        from event as e
        cross join lateral (select
            case when e.to_state in ('failed', 'cannot_complete') then 'failed' when e.to_state = 'blocked' then 'blocked'
                when e.to_state = 'completed' and stepwell._unit_no(e.unit_id) = any (v_milestones) then 'milestone'
                when e.event_type like 'approval.%' then 'approval' when e.event_type in ('workflow.paused', 'workflow.resumed') then 'paused'
                when e.event_type = 'workflow.started' then 'started'
                when e.event_type in ('workflow.completed', 'workflow.failed', 'workflow.cancelled') then 'ended'
                when e.actor_class = 'pic_human' then 'person' when e.to_state = 'waiting' then 'waiting' end,
            case when e.event_type like 'workflow.%' then 0 when e.to_state in ('failed', 'cannot_complete', 'blocked') then 1
                when e.to_state = 'completed' and stepwell._unit_no(e.unit_id) = any (v_milestones) then 1
                when e.event_type like 'approval.%' then 2 else 3 end) as k (kind, rank)
        where k.kind is not null
        order by k.rank, e.event_id desc
        limit greatest(least(p_marks, 1000), 0)
    )
    select json_build_object('from', v_run.from_at, 'to', v_run.to_at,
        'bucket_seconds', round((extract(epoch from v_run.to_at - v_run.from_at) / p_buckets)::numeric, 3),
        'counts', (select json_agg(b.events order by b.no) from bucket as b),
        'first_event_id', (select json_agg(b.first_event_id order by b.no) from bucket as b),
        'marks', (select coalesce(json_agg(json_build_object('event_id', m.event_id, 'at', m.at, 'kind', m.kind, 'no', m.no, 'type', m.event_type)
            order by m.event_id), '[]') from mark as m),
        'sealed_event_id', (select max(e.event_id) from event as e inner join stepwell.audit_chain as c on c.tenant_id = p_tenant_id
            where e.event_id <= c.last_event_id),
        'last_event_id', (select max(e.event_id) from event as e)) into v_found;
    return v_found;
end
$$;

-- What each step of a run did from when to when, as columns: working, waiting, queued or blocked, and in which attempt; and from
-- when to when the open steps are expected, by their numbers. Times are milliseconds after the start of the run; an end that is
-- null is now.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when there is no such run.
create or replace function stepwell.fn_run_segments(p_tenant_id int, p_run_id bigint) returns json
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_run record;
    v_expected json;
    v_found json;
begin
    select r.created_at, r.finished_at into v_run from stepwell.run_detail as r where r.tenant_id = p_tenant_id and r.run_id = p_run_id;
    if not found then
        raise exception using errcode = 'SW002', column = 'run', message = format('run %s does not exist', p_run_id);
    end if;
    if v_run.finished_at is null then
        v_expected := stepwell.fn_run_expected_steps(p_tenant_id, p_run_id);
    end if;
    with change as (
        select e.unit_id, e.to_state, e.at, lead(e.at) over w as until_at,
            count(*) filter (where e.to_state = 'in_progress') over (partition by e.unit_id order by e.event_id) as attempt
        from stepwell.event_log as e
        where e.tenant_id = p_tenant_id and e.run_id = p_run_id and e.to_state is not null and e.unit_id <> stepwell._run_unit(p_run_id)
        window w as (partition by e.unit_id order by e.event_id)
    ), segment as (
        select stepwell._unit_no(c.unit_id) as no, k.kind, c.attempt, (extract(epoch from c.at - v_run.created_at) * 1000)::bigint as from_ms,
            (extract(epoch from c.until_at - v_run.created_at) * 1000)::bigint as to_ms
        from change as c
        inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and c.unit_id = u.unit_id and u.scope = 'step'
        inner join (values ('in_progress', 0), ('overdue', 0), ('waiting', 1), ('ready', 2), ('failed', 2), ('blocked', 3)) as k (state, kind)
            on c.to_state = k.state
    ), expected as (
        select x.no, x.from_ms, x.to_ms
        from unnest(array(select json_array_elements_text(v_expected -> 'no')::int), array(select json_array_elements_text(v_expected -> 'from')::bigint),
            array(select json_array_elements_text(v_expected -> 'to')::bigint)) as x (no, from_ms, to_ms)
    )
    select json_build_object('from', v_run.created_at, 'to', coalesce(v_run.finished_at, stepwell.now()), 'now', stepwell.now(),
        'is_ended', v_run.finished_at is not null, 'milestones', stepwell.fn_run_milestones(p_tenant_id, p_run_id),
        'whole_ms', (extract(epoch from coalesce(v_run.finished_at, stepwell.now()) - v_run.created_at) * 1000)::bigint, 'kinds', array['working', 'waiting', 'queued', 'blocked'],
        'segments', (select json_build_object('no', coalesce(array_agg(s.no order by s.no, s.from_ms), '{}'),
            'kind', coalesce(array_agg(s.kind order by s.no, s.from_ms), '{}'),
            'attempt', coalesce(array_agg(s.attempt order by s.no, s.from_ms), '{}'), 'from', coalesce(array_agg(s.from_ms order by s.no, s.from_ms), '{}'),
            'to', coalesce(array_agg(s.to_ms order by s.no, s.from_ms), '{}')) from segment as s),
        'groups', (select json_build_object('people', coalesce(array_agg(distinct s.no) filter (where d.step_kind = 'human'), '{}'),
                'code', coalesce(array_agg(distinct s.no) filter (where d.step_kind <> 'human'), '{}'))
            from (select g.no from segment as g union select e.no from expected as e) as s
            inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.unit_id = stepwell._run_unit(p_run_id) + s.no
            inner join stepwell.workflow_step_def as d on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no),
        'expected', (select coalesce(json_object_agg(e.no, json_build_array(e.from_ms, e.to_ms)), '{}') from expected as e))
    into v_found;
    return v_found;
end
$$;
