-- Reading the log as it grows, without waiting for open transactions. A position is a snapshot as text (pg_snapshot): it says
-- which transactions a reader has seen. A transaction that was open then is read when it has committed; until then it
-- delays nobody else.

-- The events that are committed now and were not at a position, in the order of their numbers. The position after them is
-- the snapshot of this statement, so a page is never half read. With p_until only what that position has seen. With
-- p_run_ids only events of these runs, with p_types also those of these types in any run, with p_with_people also changes of
-- what people work on (is_people); without runs and types all events. Where
-- more than p_limit events are new, or more than five times as many of all runs, no event is returned, and is_behind: the
-- reader begins again at the position.
-- A position may also be two snapshots and a number: of what only the second has seen, the events up to the number are read.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW001 when the position is none.
create or replace function stepwell.fn_events_after(
    p_tenant_id int, p_after text, p_until text default null, p_run_ids bigint[] default null, p_types text[] default null,
    p_with_people boolean default false, p_limit int default null
) returns table (
    reached text, is_behind boolean, tx bigint, event_id bigint, at timestamptz, run_id bigint, unit_id bigint, event_type text,
    from_state text, to_state text, actor text, is_people boolean
)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_now constant pg_snapshot := pg_current_snapshot();
    v_until constant pg_snapshot := case when p_until is null then v_now else stepwell._position_read(p_until) end;
    v_after constant pg_snapshot := stepwell._position_read(split_part(p_after, ';', 1));
    v_half constant pg_snapshot := stepwell._position_read(nullif(split_part(p_after, ';', 2), ''));
    v_half_id constant bigint := nullif(split_part(p_after, ';', 3), '')::bigint;
    v_limit constant int := least(coalesce(p_limit, stepwell._limit('limits.events_behind')), stepwell._limit('limits.events_behind'));
begin
    return query
    with scanned as materialized (
        -- What was open then, one by one, and what began later: the range between was read before. `offset 0` keeps the planner
        -- from reading the whole log for it, whatever it believes of the sizes of transactions.
        select e.*
        from pg_snapshot_xip(v_after) as o (tx)
        cross join lateral (
            select x.tx, x.event_id, x.at, x.run_id, x.unit_id, x.event_type, x.from_state, x.to_state, x.actor
            from stepwell.event_log as x where x.tenant_id = p_tenant_id and x.tx = o.tx offset 0) as e
        union all
        (select e.tx, e.event_id, e.at, e.run_id, e.unit_id, e.event_type, e.from_state, e.to_state, e.actor
        from stepwell.event_log as e
        where e.tenant_id = p_tenant_id and e.tx >= pg_snapshot_xmax(v_after)
        limit v_limit * 5 + 1)
    ), picked as materialized (
        select s.*, p.is_people
        from scanned as s
        cross join lateral (select p_with_people and s.to_state is not null and exists (
            select from stepwell.work_unit as u
            left join stepwell.workflow_step_def as d on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
            where u.tenant_id = p_tenant_id and u.unit_id = s.unit_id and u.executor_class_id is null
                and (u.scope = 'task' or u.scope = 'step' and d.step_kind = 'human')) as is_people) as p
        where (p_until is null or pg_visible_in_snapshot(s.tx, v_until))
            and (v_half is null or s.event_id > v_half_id or not pg_visible_in_snapshot(s.tx, v_half))
            -- A list of runs is hashed only in this form.
            and (p_run_ids is null and p_types is null or s.run_id in (select w.run_id from unnest(p_run_ids) as w (run_id))
                or s.event_type = any (p_types) or p.is_people)
    ), size as materialized (
        select (select count(*) from scanned) > v_limit * 5 or (select count(*) from picked) > v_limit as is_behind
    )
    select case when z.is_behind then v_now else v_until end::text, z.is_behind, p.tx::text::bigint, p.event_id, p.at, p.run_id, p.unit_id,
        p.event_type, p.from_state, p.to_state, p.actor, p.is_people
    from size as z
    left join picked as p on not z.is_behind
    order by p.event_id;
end
$$;

-- The snapshot in a position; null for null.
-- Raises: SW001 when the text is no position.
create or replace function stepwell._position_read(p_position text) returns pg_snapshot
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
begin
    return p_position::pg_snapshot;
exception when others then
    raise exception using errcode = 'SW001', column = 'after', message = 'after: this is not a position',
        hint = 'give `position` of a snapshot, or the id of an earlier message';
end
$$;
