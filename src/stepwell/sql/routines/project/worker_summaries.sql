-- What the engine says about workers and executors in one sentence: made from the newest events of a tenant, within a window, and
-- stored through the door of problem/summaries.sql.

-- Writes the sentences of the next tenants, in the order of their numbers. A tenant without an event in the window costs one look; a
-- tenant whose sentences fail is set aside, and the others go on. Returns how many sentences were written.
-- Locks: the row of the watch, then the rows of the sentences.
-- Idempotency: the same events give the same sentences.
-- Raises: what is not the fault of a row.
create or replace function stepwell.fn_summaries_write(p_limit int default 50) returns int
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_limit constant int := least(p_limit, 1000);
    v_place bigint;
    v_seen int := 0;
    v_count int := 0;
    v_tenant_id int;
begin
    select w.place into v_place from stepwell.governance_watch as w where w.watch_name = 'summary' for update;
    for v_tenant_id in
        select t.tenant_id from stepwell.tenant as t where t.tenant_id > v_place order by t.tenant_id limit v_limit
    loop
        v_seen := v_seen + 1;
        v_place := v_tenant_id::bigint;
        continue when stepwell._is_set_aside(v_tenant_id, 'summaries', 'workers', v_now);
        begin
            v_count := v_count + stepwell._tenant_summaries(v_tenant_id, v_now);
        exception when others then
            if not stepwell._is_fault_of_row(sqlstate) then
                raise;
            end if;
            perform stepwell._problem_open(v_tenant_id, 'set_aside', 'summaries', 'workers', null, sqlstate, sqlerrm);
        end;
    end loop;
    update stepwell.governance_watch as w set place = case when v_seen < v_limit then 0 else v_place end
    where w.watch_name = 'summary' and w.place <> case when v_seen < v_limit then 0 else v_place end;
    return v_count;
end
$$;

-- Writes the sentences of one tenant, and closes the problem of an earlier failure.
create or replace function stepwell._tenant_summaries(p_tenant_id int, p_now timestamptz) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_from constant timestamptz := p_now - make_interval(secs => stepwell._limit('summary.window_seconds'));
    v_said record;
    v_facts jsonb;
    v_count int := 0;
begin
    -- Workers are of the whole installation: the first tenant has a sentence about each; the others about those that work for them.
    if p_tenant_id <> 1 and coalesce((select e.at from stepwell.event_log as e where e.tenant_id = p_tenant_id
        order by e.tx desc, e.event_id desc limit 1), '-infinity') < v_from then
        return 0;
    end if;
    for v_said in select w.* from stepwell._worker_facts(p_tenant_id, v_from, p_now) as w loop
        v_facts := v_said.facts;
        perform stepwell._summary_put(p_tenant_id, v_said.subject_kind, v_said.subject, v_said.colour,
            stepwell._text_fill('summary.worker.' || v_said.body, 'en', v_facts || jsonb_build_object('status',
                stepwell._text_fill('summary.worker.' || v_said.status, 'en', v_facts))),
            stepwell._text_fill('summary.worker.' || v_said.body, 'vi', v_facts || jsonb_build_object('status',
                stepwell._text_fill('summary.worker.' || v_said.status, 'vi', v_facts))),
            v_said.event_count, v_said.event_count, v_said.refs, v_said.start_at, p_now, 'sql_fn', 'fn_summaries_write', '1', null, 'keeper');
        v_count := v_count + 1;
    end loop;
    perform stepwell._problem_close(p.tenant_id, p.problem_id, 'keeper', 'it goes on')
    from stepwell.governance_problem as p
    where p.tenant_id = p_tenant_id and p.category_code = 'set_aside' and p.duty = 'summaries' and p.subject = 'workers' and p.closed_at is null;
    return v_count;
end
$$;

-- The newest moves of units by workers within the window, each with its worker, its executor, and for a start how long the unit had
-- been ready. A unit that became ready before the window has waited since its beginning at least. start_at is where the window
-- begins: later than asked when it has more events than are read.
create or replace function stepwell._worker_moves(p_tenant_id int, p_from timestamptz)
returns table (session_id bigint, executor text, unit_id bigint, tx xid8, ref text, event_id bigint, to_state text, lag_seconds numeric, start_at timestamptz)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with newest as materialized (
        select e.tx, e.event_id, e.run_id, e.unit_id, e.to_state, e.actor_class, e.actor, e.at
        from stepwell.event_log as e
        where e.tenant_id = p_tenant_id and e.at >= date_trunc('month', p_from at time zone 'UTC') at time zone 'UTC'
        order by e.tx desc, e.event_id desc limit stepwell._limit('summary.events')
    ), seen as (
        select n.*, lag(n.to_state) over w as before_state, lag(n.at) over w as before_at
        from newest as n
        where n.at >= p_from and n.to_state in ('ready', 'in_progress', 'completed', 'failed', 'cannot_complete')
        window w as (partition by n.unit_id order by n.event_id)
    ), begun as (
        select case when count(*) < stepwell._limit('summary.events') then p_from else greatest(min(n.at), p_from) end as start_at
        from newest as n
    )
    select substr(s.actor, 9)::bigint, c.class_name, s.unit_id, s.tx, format('event:%s:%s', s.run_id, s.event_id), s.event_id, s.to_state,
        case when s.to_state = 'in_progress' then extract(epoch from s.at - case when s.before_state = 'ready' then s.before_at else b.start_at end) end,
        b.start_at
    from seen as s
    cross join begun as b
    left join stepwell.work_unit as u on u.tenant_id = p_tenant_id and s.unit_id = u.unit_id
    left join stepwell.executor_class as c on u.executor_class_id = c.executor_class_id
    where s.actor_class = 'executor_worker' and s.actor ~ '^session:[0-9]{1,18}$' and s.to_state <> 'ready'
$$;

-- What is to be said about each worker and executor of a tenant, and the evidence. Where no event is left to count, the last good
-- heartbeat is the evidence; without one nothing is said.
create or replace function stepwell._worker_facts(p_tenant_id int, p_from timestamptz, p_now timestamptz)
returns table (subject_kind text, subject text, status text, colour text, body text, facts jsonb, event_count int, refs text[], start_at timestamptz)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with moves as materialized (
        select m.* from stepwell._worker_moves(p_tenant_id, p_from) as m
    ), counted as (
        select g.subject_kind, g.subject, count(*)::int as event_count, min(m.start_at) as start_at,
            count(distinct m.unit_id || ':' || m.tx::text) filter (where m.to_state <> 'in_progress') as job_count,
            count(distinct m.unit_id || ':' || m.tx::text) filter (where m.to_state in ('failed', 'cannot_complete')) as error_count,
            round(greatest(percentile_disc(0.95) within group (order by m.lag_seconds), 0), 1) as lag,
            (array_agg(m.ref order by m.event_id desc))[1:100] as refs
        from moves as m
        cross join lateral (values ('worker', m.session_id::text), ('executor', m.executor)) as g (subject_kind, subject)
        where g.subject is not null
        group by g.subject_kind, g.subject
    ), subjects as (
        select 'worker' as subject_kind, h.session_id::text as subject, max(h.last_ok_at) as last_ok_at,
            (array_agg(h.session_id))[1] as tick_session_id, bool_or(h.status = 'alive') as is_alive, bool_or(h.status = 'closed') as is_closed,
            bool_and(h.is_frozen) as is_frozen, bool_or(h.is_draining) as is_draining, max(s.held_count) as held_count
        from stepwell.queue_heartbeat as h
        inner join stepwell.worker_session as s on h.session_id = s.session_id
        where (h.closed_at is null and p_tenant_id = 1) or h.session_id in (select m.session_id from moves as m)
        group by h.session_id
        union all
        select 'executor', h.executor_kind, max(h.last_ok_at), (array_agg(h.session_id order by h.last_ok_at desc nulls last))[1],
            bool_or(h.status = 'alive'), false, exists (select from stepwell.worker_stop as w
                inner join stepwell.executor_class as c on w.executor_class_id = c.executor_class_id where c.class_name = h.executor_kind),
            false, 0
        from stepwell.queue_heartbeat as h
        where h.closed_at is null and (p_tenant_id = 1 or h.executor_kind in (select m.executor from moves as m))
        group by h.executor_kind
    )
    select x.subject_kind, x.subject, t.status,
        case when t.status = 'silent' then 'red' when t.status in ('ok', 'closed', 'drained') and coalesce(c.error_count, 0) = 0
            and stepwell._summary_open_problem(p_tenant_id, x.subject_kind, x.subject) is null then 'green' else 'yellow' end,
        case when c.event_count is null then 'idle' when c.lag is null then 'ended' else 'busy' end,
        jsonb_build_object('jobs', c.job_count, 'errors', c.error_count, 'lag', c.lag,
            'silence', greatest(extract(epoch from p_now - x.last_ok_at)::bigint, 0),
            'minutes', ceil(extract(epoch from p_now - p_from) / 60)::int),
        coalesce(c.event_count, 1), coalesce(c.refs, array['heartbeat:' || x.tick_session_id]),
        coalesce(c.start_at, least(p_from, x.last_ok_at))
    from subjects as x
    left join counted as c on x.subject_kind = c.subject_kind and x.subject = c.subject
    cross join lateral (select case
        when x.is_closed then 'closed'
        when x.is_frozen then 'frozen'
        when not x.is_alive then 'silent'
        when x.is_draining then case when x.held_count = 0 then 'drained' else 'draining' end
        when stepwell._summary_open_problem(p_tenant_id, x.subject_kind, x.subject) is not null then 'watched'
        when c.error_count > 0 then 'errors' else 'ok' end as status) as t
    where c.event_count is not null or x.last_ok_at is not null
$$;
