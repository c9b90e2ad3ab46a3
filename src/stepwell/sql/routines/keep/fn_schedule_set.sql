-- Purpose: makes or changes a schedule. The caller has read the cron expression and says when it is due next.
-- Locks: the schedule's row.
-- Idempotency: the same definition again changes nothing, the next time included.
-- Raises: SW001 naming the field; SW002 when the workflow is not published; SW006 over a limit;
--   SW007 for another tenant.
create or replace function stepwell.fn_schedule_set(
    p_tenant_id int, p_schedule_name text, p_workflow_name text, p_cron text, p_time_zone text, p_input jsonb,
    p_misfire text, p_backfill_limit int, p_next_at timestamptz, p_actor text
) returns boolean
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_workflow_id int;
    v_is_new boolean;
begin
    perform stepwell._tenant_bound(p_tenant_id);
    if p_schedule_name !~ '^[a-z0-9][a-z0-9._-]{0,99}$' or p_schedule_name is null then
        raise exception using errcode = 'SW001', column = 'schedule_name',
            message = 'schedule_name: 1 to 100 of a-z, 0-9, dot, dash and underscore, beginning with a letter or digit';
    end if;
    if coalesce(length(p_cron), 0) not between 9 and 200 then
        raise exception using errcode = 'SW001', column = 'cron', message = 'cron: five or six fields are required';
    end if;
    if p_misfire not in ('skip', 'latest', 'all') or p_misfire is null then
        raise exception using errcode = 'SW001', column = 'misfire', message = 'misfire: must be skip, latest or all';
    end if;
    if p_backfill_limit not between 1 and 10000 or p_backfill_limit is null then
        raise exception using errcode = 'SW001', column = 'backfill_limit', message = 'backfill_limit: must be 1 to 10000';
    end if;
    if jsonb_typeof(p_input) is distinct from 'object' then
        raise exception using errcode = 'SW001', column = 'input', message = 'input: must be an object of named values';
    end if;
    if pg_column_size(p_input) > stepwell._limit('limits.payload_bytes') then
        raise exception using errcode = 'SW006', message = 'input: larger than the limit';
    end if;
    begin
        perform stepwell.now() at time zone p_time_zone;
    exception when invalid_parameter_value then
        raise exception using errcode = 'SW001', column = 'time_zone',
            message = format('time_zone: %s is not known to the database', p_time_zone);
    end;
    v_workflow_id := (stepwell._version_find(p_tenant_id, p_workflow_name, null)).workflow_id;
    insert into stepwell.workflow_schedule as s (
        tenant_id, schedule_name, workflow_id, cron, time_zone, input, misfire, backfill_limit, next_at, created_at, created_by)
    values (p_tenant_id, p_schedule_name, v_workflow_id, p_cron, p_time_zone, p_input, p_misfire, p_backfill_limit,
        p_next_at, stepwell.now(), p_actor)
    on conflict (tenant_id, schedule_name) do update set
        workflow_id = excluded.workflow_id, cron = excluded.cron, time_zone = excluded.time_zone, input = excluded.input,
        misfire = excluded.misfire, backfill_limit = excluded.backfill_limit,
        next_at = case when (s.cron, s.time_zone) = (excluded.cron, excluded.time_zone) then s.next_at
            else excluded.next_at end
    returning xmax = 0 into v_is_new;
    return v_is_new;
end
$$;
