-- Schedules start runs at their times. The keeper reads the cron expression; the database makes sure that each time
-- fires once.

-- Creates or changes a schedule. The caller has read the cron expression and says when it is due next.
-- Locks: the schedule's row.
-- Idempotency: the same definition again changes nothing, also not the next time.
-- Raises: SW001 naming the field; SW002 when the workflow is not published or the workspace does not exist; SW006 over a limit; SW007 for another
--   tenant.
create or replace function stepwell.fn_schedule_set(
    p_tenant_id int, p_schedule_name text, p_workflow_name text, p_cron text, p_time_zone text, p_input jsonb,
    p_misfire text, p_backfill_limit int, p_next_at timestamptz, p_actor text, p_workspace text default null
) returns boolean
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_version stepwell.workflow_version;
    v_problem text;
    v_workspace_id int;
    v_is_new boolean;
begin
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'workflow.publish');
    if p_schedule_name !~ '^[a-z0-9][a-z0-9._-]{0,99}$' or p_schedule_name is null then
        raise exception using errcode = 'SW001', column = 'schedule_name',
            message = 'schedule_name: 1 to 100 of a-z, 0-9, dot, dash and underscore are accepted, beginning with a letter or digit';
    end if;
    if coalesce(length(p_cron), 0) not between 9 and 200 then
        raise exception using errcode = 'SW001', column = 'cron', message = 'cron: five or six fields are required';
    end if;
    perform stepwell._secret_refuse('cron', p_cron);
    if p_misfire not in ('skip', 'latest', 'all') or p_misfire is null then
        raise exception using errcode = 'SW001', column = 'misfire', message = 'misfire: skip, latest or all is accepted';
    end if;
    if p_backfill_limit not between 1 and 10000 or p_backfill_limit is null then
        raise exception using errcode = 'SW001', column = 'backfill_limit', message = 'backfill_limit: 1 to 10000 are accepted';
    end if;
    if jsonb_typeof(p_input) is distinct from 'object' then
        raise exception using errcode = 'SW001', column = 'input', message = 'input: an object of named values is required';
    end if;
    perform stepwell._values_check('input', 'input', array[p_input], 'limits.payload_bytes');
    begin
        perform stepwell.now() at time zone p_time_zone;
    exception when invalid_parameter_value then
        raise exception using errcode = 'SW001', column = 'time_zone',
            message = format('time_zone: %s is unknown to the database; a name such as Asia/Ho_Chi_Minh is accepted', p_time_zone);
    end;
    v_version := stepwell._startable_find(p_tenant_id, p_workflow_name, null);
    v_problem := stepwell._schema_problem(v_version.input_schema, p_input, 'input');
    if v_problem is not null then
        raise exception using errcode = 'SW001', message = v_problem, column = split_part(v_problem, ' ', 1);
    end if;
    if p_workspace is not null then
        v_workspace_id := stepwell._workspace_find(p_tenant_id, p_workspace);
    end if;
    insert into stepwell.workflow_schedule as s (
        tenant_id, schedule_name, workflow_id, cron, time_zone, input, misfire, backfill_limit, next_at, created_at, created_by,
        authors, workspace_id)
    values (p_tenant_id, p_schedule_name, v_version.workflow_id, p_cron, p_time_zone, p_input, p_misfire, p_backfill_limit,
        p_next_at, stepwell.now(), p_actor, array[p_actor], v_workspace_id)
    on conflict (tenant_id, schedule_name) do update set
        workflow_id = excluded.workflow_id, cron = excluded.cron, time_zone = excluded.time_zone, input = excluded.input,
        misfire = excluded.misfire, backfill_limit = excluded.backfill_limit, workspace_id = excluded.workspace_id,
        next_at = case when (s.cron, s.time_zone) = (excluded.cron, excluded.time_zone) then s.next_at
            else excluded.next_at end,
        authors = case when (s.workflow_id, s.cron, s.time_zone, s.input, coalesce(s.workspace_id, 0))
            = (excluded.workflow_id, excluded.cron, excluded.time_zone, excluded.input, coalesce(excluded.workspace_id, 0)) then s.authors
            else (p_actor || array_remove(s.authors, p_actor))[:50] end
    returning xmax = 0 into v_is_new;
    return v_is_new;
end
$$;

-- Pauses or resumes a schedule. Times that pass while it is paused do not fire later: the keeper finds its next time.
-- Locks: the schedule's row.
-- Idempotency: yes.
-- Raises: SW002 when there is no such schedule; SW007 for another tenant.
create or replace function stepwell.fn_schedule_pause(p_tenant_id int, p_schedule_name text, p_is_paused boolean)
returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._verb_check(p_tenant_id, 'workflow.publish');
    update stepwell.workflow_schedule as s
    set is_paused = p_is_paused, next_at = case when s.is_paused = p_is_paused then s.next_at end
    where s.tenant_id = p_tenant_id and s.schedule_name = p_schedule_name;
    if not found then
        raise exception using errcode = 'SW002', column = 'name', message = format('schedule %s does not exist', p_schedule_name),
            hint = coalesce(stepwell.fn_name_suggest(p_tenant_id, 'schedule', p_schedule_name), '''stepwell schedule list'' shows all');
    end if;
end
$$;

-- Deletes a schedule; the runs that it started stay.
-- Locks: the schedule's row.
-- Idempotency: a second call raises SW002.
-- Raises: SW002 when there is no such schedule; SW007 for another tenant.
create or replace function stepwell.fn_schedule_delete(p_tenant_id int, p_schedule_name text) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._verb_check(p_tenant_id, 'workflow.publish');
    delete from stepwell.workflow_schedule as s
    where s.tenant_id = p_tenant_id and s.schedule_name = p_schedule_name;
    if not found then
        raise exception using errcode = 'SW002', column = 'name', message = format('schedule %s does not exist', p_schedule_name),
            hint = coalesce(stepwell.fn_name_suggest(p_tenant_id, 'schedule', p_schedule_name), '''stepwell schedule list'' shows all');
    end if;
end
$$;

-- The schedules that a keeper must handle now: those whose time has come, and those without a next time; not those that
-- were set aside until later, nor those that another transaction has locked. The keeper reads the cron expression with
-- its time zone and calls fn_schedule_fire.
-- Locks: the schedules it returns, without waiting, until the statement of the keeper ends; when two keepers see the
--   same schedule, it fires once.
-- Idempotency: changes nothing.
-- Raises: nothing.
create or replace function stepwell.fn_schedule_due(p_limit int default 100)
returns table (
    tenant_id int, schedule_name text, cron text, time_zone text, misfire text, backfill_limit int,
    next_at timestamptz, now_at timestamptz
)
language sql volatile security definer
set search_path = stepwell, pg_temp
as $$
    select s.tenant_id, s.schedule_name, s.cron, s.time_zone, s.misfire, s.backfill_limit, s.next_at, t.now_at
    from stepwell.workflow_schedule as s
    cross join (select stepwell.now()) as t (now_at)
    where not s.is_paused and (s.next_at <= t.now_at or s.next_at is null)
        and not stepwell._is_set_aside(s.tenant_id, 'schedule', s.schedule_name, t.now_at)
    order by s.next_at nulls first, s.tenant_id, s.schedule_name
    limit least(p_limit, 1000)
    for no key update of s skip locked
$$;

-- Starts the runs of a schedule for the given times and sets its next time, all or nothing. The next time that the
-- caller saw must still be the next time: of two keepers one fires, the other changes nothing.
-- Locks: the schedule's row, without waiting, then what fn_run_start takes, for which it waits a moment only: other
--   schedules and timers wait behind it.
-- Idempotency: by the time seen, and by the trigger (schedule, name@time) of each run.
-- Raises: SW001 for more times than the schedule's backfill limit; 55P03 when a start of another transaction is in its
--   way; nothing when the schedule is deleted, paused, locked or has another next time.
create or replace function stepwell.fn_schedule_fire(
    p_tenant_id int, p_schedule_name text, p_seen_next_at timestamptz, p_fire_ats timestamptz[], p_next_at timestamptz
) returns table (run_id bigint, fire_at timestamptz)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
set lock_timeout = '50ms'
as $$
#variable_conflict use_column
declare
    v_schedule stepwell.workflow_schedule;
    v_workflow text;
    v_workspace text;
    v_started record;
begin
    select s.* into v_schedule
    from stepwell.workflow_schedule as s
    where s.tenant_id = p_tenant_id and s.schedule_name = p_schedule_name and not s.is_paused
        and s.next_at is not distinct from p_seen_next_at
    for update skip locked;
    if not found then
        return;
    end if;
    if cardinality(p_fire_ats) > v_schedule.backfill_limit then
        raise exception using errcode = 'SW001', column = 'fire_ats', message = format(
            'fire_ats: %s times are too many; schedule %s accepts %s', cardinality(p_fire_ats), p_schedule_name, v_schedule.backfill_limit);
    end if;
    select w.workflow_name into v_workflow from stepwell.workflow_registry as w
    where w.tenant_id = p_tenant_id and w.workflow_id = v_schedule.workflow_id;
    select x.workspace_name into v_workspace from stepwell.workspace as x
    where x.tenant_id = p_tenant_id and x.workspace_id = v_schedule.workspace_id;
    if cardinality(p_fire_ats) > 0 then
        for v_started in
            select n.run_id, n.is_new, f.fire_at, f.label
            from stepwell.fn_run_start(
                p_tenant_id, v_workflow, array_fill(v_schedule.input, array[cardinality(p_fire_ats)]),
                array(select p_schedule_name || '@' || to_char(x at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
                    from unnest(p_fire_ats) with ordinality as y (x, ord) order by y.ord),
                'schedule', 'schedule:' || p_schedule_name, p_workspace => v_workspace) with ordinality as n (run_id, is_new, ord)
            inner join (
                select y.x, to_char(y.x at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), y.ord
                from unnest(p_fire_ats) with ordinality as y (x, ord)
            ) as f (fire_at, label, ord) on n.ord = f.ord
            order by n.ord
        loop
            if v_started.is_new then
                update stepwell.run_detail as r set origin = v_schedule.authors
                where r.tenant_id = p_tenant_id and r.run_id = v_started.run_id;
                perform stepwell._event_append(p_tenant_id, stepwell._run_unit(v_started.run_id), 'schedule.fired', 'keeper',
                    jsonb_build_object('schedule', p_schedule_name, 'scheduled_at', v_started.label,
                        'authors', v_schedule.authors));
            end if;
            return query select v_started.run_id, v_started.fire_at;
        end loop;
    end if;
    update stepwell.workflow_schedule as s
    set next_at = p_next_at, last_at = coalesce(p_fire_ats[cardinality(p_fire_ats)], s.last_at)
    where s.tenant_id = p_tenant_id and s.schedule_name = p_schedule_name;
end
$$;

-- Schedules with the name of their workflow, and when each ran last and is due next.
create or replace view stepwell.v_schedule with (security_invoker = true) as
select
    s.tenant_id,
    s.schedule_name,
    w.workflow_name as workflow,
    s.cron,
    s.time_zone,
    (
        select y.input from stepwell.v_schedule_payload as y
        where y.tenant_id = s.tenant_id and y.schedule_name = s.schedule_name
    ) as input,
    s.misfire,
    s.backfill_limit,
    s.is_paused,
    s.next_at,
    s.last_at,
    s.created_at,
    s.created_by,
    (
        select x.workspace_name from stepwell.workspace as x
        where x.tenant_id = s.tenant_id and x.workspace_id = s.workspace_id
    ) as workspace
from stepwell.workflow_schedule as s
inner join stepwell.workflow_registry as w on s.tenant_id = w.tenant_id and s.workflow_id = w.workflow_id;
