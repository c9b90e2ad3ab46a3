-- One bad row never stops another: a batch that fails is halved until the row at fault is found. That row is set aside
-- with its reason, and the rest of the batch is done.

-- Whether an error may be the fault of one row. A collision, a time limit, a full disk or a server that stops is not:
-- those end the whole transaction, and the same call may succeed later.
create or replace function stepwell._is_fault_of_row(p_error_code text) returns boolean
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select left(p_error_code, 2) not in ('08', '25', '40', '53', '55', '57', '58')
$$;

-- Calls a routine (tenant ids, unit ids → how many were done) for these units: first for all together, then without those
-- that make it fail: each of those is set aside. At most 50 of them in one call; what is left is done by a later call.
-- Returns how many were done; 0 without units. Replays have the numbers of their requests in place of units.
-- Locks: as the routine; the caller holds the runs.
-- Raises: what is not the fault of a row.
create or replace function stepwell._units_isolate(p_routine text, p_duty text, p_tenant_ids int[], p_unit_ids bigint[])
returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_firsts int[] := array[1];
    v_lasts int[] := array[cardinality(p_unit_ids)];
    v_first int;
    v_last int;
    v_done int;
    v_count int := 0;
    v_aside_count int := 0;
    v_code text;
    v_reason text;
begin
    if p_unit_ids is null then
        return 0;
    end if;
    while cardinality(v_firsts) > 0 and v_aside_count < 50 loop
        v_first := v_firsts[cardinality(v_firsts)];
        v_last := v_lasts[cardinality(v_lasts)];
        v_firsts := trim_array(v_firsts, 1);
        v_lasts := trim_array(v_lasts, 1);
        begin
            execute format('select stepwell.%I($1, $2)', p_routine) into v_done
            using p_tenant_ids[v_first:v_last], p_unit_ids[v_first:v_last];
            v_count := v_count + v_done;
        exception when others then
            get stacked diagnostics v_code = returned_sqlstate, v_reason = message_text;
            if not stepwell._is_fault_of_row(v_code) then
                raise;
            end if;
            if v_first = v_last then
                perform stepwell._unit_set_aside(p_tenant_ids[v_first], p_unit_ids[v_first], p_duty, v_code, v_reason);
                v_aside_count := v_aside_count + 1;
            else
                v_firsts := v_firsts || array[(v_first + v_last) / 2 + 1, v_first];
                v_lasts := v_lasts || array[v_last, (v_first + v_last) / 2];
            end if;
        end;
    end loop;
    return v_count;
end
$$;

-- Sets a unit aside: a problem with the reason is opened, and nothing tries the unit again before the time of the problem.
-- Timers that are due wait until then; after a claim or a report the unit waits outside the queue. The number of a replay
-- is that of its request.
-- Locks: the caller holds the run or the job.
create or replace function stepwell._unit_set_aside(
    p_tenant_id int, p_unit_id bigint, p_duty text, p_error_code text, p_reason text
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_unit_id constant bigint := case when p_duty = 'replays' then (select r.unit_id from stepwell.dlq_replay_request as r
        where r.tenant_id = p_tenant_id and r.replay_request_id = p_unit_id) else p_unit_id end;
    v_retry_at constant timestamptz := stepwell._problem_open(p_tenant_id, 'set_aside', p_duty, p_unit_id::text, v_unit_id,
        p_error_code, p_reason);
begin
    update stepwell.timer as t set due_at = v_retry_at
    where t.tenant_id = p_tenant_id and t.unit_id = p_unit_id and t.due_at < v_retry_at and p_duty = 'timers';
    insert into stepwell.timer (tenant_id, unit_id, timer_kind, due_at)
    select u.tenant_id, u.unit_id, case u.state_code when 'failed' then 'retry' else 'start' end, v_retry_at
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id and p_duty in ('claim', 'report')
        and u.state_code in ('ready', 'failed')
    on conflict (tenant_id, unit_id, timer_kind) do update set due_at = excluded.due_at;
end
$$;

-- Sets aside what a keeper could not do for one tenant: fire a schedule, seal the log. Returns when it may try again.
-- Locks: the row of the open problem.
-- Idempotency: an open problem is met again, and its wait doubles.
-- Raises: SW001 for another duty; SW002 when the tenant does not exist; SW007 for another tenant.
create or replace function stepwell.fn_duty_set_aside(
    p_tenant_id int, p_duty text, p_subject text, p_error_code text, p_reason text
) returns timestamptz
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    p_reason := stepwell._redact_text(p_reason);
    p_subject := stepwell._redact_text(p_subject);
    perform stepwell._tenant_bound(p_tenant_id);
    if p_error_code !~ '^[0-9A-Z]{5}$' then
        raise exception using errcode = 'SW001', column = 'error_code', message = 'error_code: five digits and capital letters are accepted';
    end if;
    if p_duty not in ('schedule', 'seal') or p_duty is null then
        raise exception using errcode = 'SW001', column = 'duty', message = 'duty: schedule or seal is accepted';
    end if;
    if not exists (select from stepwell.tenant as t where t.tenant_id = p_tenant_id) then
        raise exception using errcode = 'SW002', message = format('tenant %s does not exist', p_tenant_id);
    end if;
    return stepwell._problem_open(p_tenant_id, 'set_aside', p_duty, p_subject, null, p_error_code, p_reason);
end
$$;

-- Whether something was set aside and its time has not come.
create or replace function stepwell._is_set_aside(p_tenant_id int, p_duty text, p_subject text, p_now timestamptz)
returns boolean
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    return exists (
        select from stepwell.governance_problem as p
        where p.tenant_id = p_tenant_id and p.category_code = 'set_aside' and p.duty = p_duty and p.subject = p_subject
            and p.closed_at is null and p.retry_at > p_now);
end
$$;

-- What was set aside in this duty and whose time has not come, each as tenant:subject. For duties that look at many rows;
-- most of the time the list is empty.
create or replace function stepwell._asides(p_duty text, p_now timestamptz) returns text[]
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce(array_agg(p.tenant_id || ':' || p.subject), '{}')
    from stepwell.governance_problem as p
    where p.category_code = 'set_aside' and p.duty = p_duty and p.closed_at is null and p.retry_at > p_now
$$;
