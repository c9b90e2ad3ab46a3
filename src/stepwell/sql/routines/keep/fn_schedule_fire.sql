-- Purpose: starts the runs of a schedule for the given times and sets its next time, all or nothing. The time the
--   caller saw as next must still be the next: of two keepers one fires, the other changes nothing.
-- Locks: the schedule's row, then what fn_run_start takes.
-- Idempotency: by the time seen, and by the trigger (schedule, name@time) of each run.
-- Raises: SW001 for more times than the schedule's backfill limit; nothing when the schedule is gone, paused or moved on.
create or replace function stepwell.fn_schedule_fire(
    p_tenant_id int, p_schedule_name text, p_seen_next_at timestamptz, p_fire_ats timestamptz[], p_next_at timestamptz
) returns table (run_id bigint, fire_at timestamptz)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_schedule stepwell.workflow_schedule;
    v_workflow text;
    v_started record;
begin
    select s.* into v_schedule
    from stepwell.workflow_schedule as s
    where s.tenant_id = p_tenant_id and s.schedule_name = p_schedule_name and not s.is_paused
        and s.next_at is not distinct from p_seen_next_at
    for update;
    if not found then
        return;
    end if;
    if cardinality(p_fire_ats) > v_schedule.backfill_limit then
        raise exception using errcode = 'SW001', column = 'fire_ats', message = format(
            'fire_ats: %s times, schedule %s allows %s', cardinality(p_fire_ats), p_schedule_name, v_schedule.backfill_limit);
    end if;
    select w.workflow_name into v_workflow from stepwell.workflow_registry as w
    where w.tenant_id = p_tenant_id and w.workflow_id = v_schedule.workflow_id;
    if cardinality(p_fire_ats) > 0 then
        for v_started in
            select n.run_id, n.is_new, f.fire_at, f.label
            from stepwell.fn_run_start(
                p_tenant_id, v_workflow, array_fill(v_schedule.input, array[cardinality(p_fire_ats)]),
                array(select p_schedule_name || '@' || to_char(x at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
                    from unnest(p_fire_ats) with ordinality as y (x, ord) order by y.ord),
                'schedule', 'schedule:' || p_schedule_name) with ordinality as n (run_id, is_new, ord)
            inner join (
                select y.x, to_char(y.x at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), y.ord
                from unnest(p_fire_ats) with ordinality as y (x, ord)
            ) as f (fire_at, label, ord) on n.ord = f.ord
            order by n.ord
        loop
            if v_started.is_new then
                perform stepwell._event_append(p_tenant_id, v_started.run_id << 20, 'schedule.fired', 'keeper',
                    jsonb_build_object('schedule', p_schedule_name, 'scheduled_at', v_started.label));
            end if;
            return query select v_started.run_id, v_started.fire_at;
        end loop;
    end if;
    update stepwell.workflow_schedule as s
    set next_at = p_next_at, last_at = coalesce(p_fire_ats[cardinality(p_fire_ats)], s.last_at)
    where s.tenant_id = p_tenant_id and s.schedule_name = p_schedule_name;
end
$$;
