-- Why nobody works on a ready unit: its time, a person, a limit, the queue, or the workers.

-- Why nobody works on a ready unit: its time has not come, it is the work of a person, it is in line for a limit, no worker
-- serves it, or it is about to be claimed.
create or replace function stepwell._why_not_claimed(p_unit stepwell.work_unit, p_name text)
returns table (code text, facts jsonb, who text)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_found record;
begin
    select t.timer_kind, t.due_at into v_found from stepwell.timer as t
    where t.tenant_id = p_unit.tenant_id and t.unit_id = p_unit.unit_id and t.timer_kind in ('start', 'retry');
    if found then
        return query select w.* from stepwell._why_timed(case v_found.timer_kind when 'retry' then 'retry' else 'schedule' end,
            jsonb_build_object('name', p_name, 'at', v_found.due_at, 'attempt', p_unit.attempt_count + 1,
                'max_attempts', p_unit.max_attempts), v_found.due_at) as w;
        return;
    end if;
    if p_unit.executor_class_id is null then
        select d.config ->> 'role' as role into v_found
        from stepwell.workflow_step_def as d
        where d.tenant_id = p_unit.tenant_id and d.version_id = p_unit.version_id and d.step_no = p_unit.def_no
            and d.step_kind = 'human';
        return query select case when not found and p_unit.scope <> 'task' then 'unexplained'
            when p_unit.pic_id is not null then 'assigned' else 'human' end,
            jsonb_build_object('name', p_name, 'role', v_found.role, 'state', p_unit.state_code,
                'variant', case when v_found.role is null and p_unit.pic_id is null and (found or p_unit.scope = 'task') then 'anyone' end,
                'person', stepwell._person_name(p_unit.tenant_id, p_unit.pic_id)),
            coalesce('person:' || stepwell._person_name(p_unit.tenant_id, p_unit.pic_id), 'role:' || v_found.role, 'anyone');
        return;
    end if;
    return query select w.* from stepwell._why_in_line(p_unit, p_name) as w;
    if found then
        return;
    end if;
    return query select w.* from stepwell._why_in_queue(p_unit, p_name) as w;
end
$$;

-- A cause that ends at a time; when that time is past and no keeper has the lead, the cause is the keeper. The lead is on the clock
-- of the server, as it is taken.
create or replace function stepwell._why_timed(p_code text, p_facts jsonb, p_due_at timestamptz)
returns table (code text, facts jsonb, who text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select case when n.is_missing then 'no_keeper' else p_code end, p_facts, case when n.is_missing then 'operator' else 'clock' end
    from (select coalesce(p_due_at < stepwell.now() - interval '5 seconds', false) and not exists (
        select from stepwell.keeper_lead as l where l.expires_at > clock_timestamp()) as is_missing) as n
$$;

-- The line of a limit in which a unit stands: its rate, the cap of its workflow or workspace, or its key; no row when in none.
create or replace function stepwell._why_in_line(p_unit stepwell.work_unit, p_name text)
returns table (code text, facts jsonb, who text)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_found record;
    v_kind constant text := split_part(p_unit.slot_key, ':', 1);
    v_facts jsonb;
begin
    select s.max_count, s.rate_count, s.rate_seconds,
        s.rate_used_count >= s.rate_count and s.used_count < s.max_count as by_rate, (
        select min(k.back_at) from stepwell.rate_token as k
        where k.tenant_id = l.tenant_id and k.slot_key = l.slot_key) as back_at, (
        select count(*) from stepwell.job_line as b
        where b.tenant_id = l.tenant_id and b.slot_key = l.slot_key and (b.rank, b.unit_id) <= (l.rank, l.unit_id)
    ) as place into v_found
    from stepwell.job_line as l
    inner join stepwell.concurrency_slot as s on l.tenant_id = s.tenant_id and l.slot_key = s.slot_key
    where l.tenant_id = p_unit.tenant_id and l.slot_key = p_unit.slot_key and l.rank = -p_unit.priority
        and l.unit_id = p_unit.unit_id;
    if not found then
        return;
    end if;
    v_facts := jsonb_build_object('name', p_name, 'key', p_unit.slot_key, 'place', v_found.place);
    if v_found.by_rate then
        return query select w.* from stepwell._why_timed('rate', v_facts || jsonb_build_object('limit', v_found.rate_count,
            'seconds', v_found.rate_seconds, 'at', v_found.back_at), v_found.back_at) as w;
        return;
    end if;
    v_facts := v_facts || jsonb_build_object('limit', v_found.max_count);
    return query select
        case when v_kind in ('workflow', 'workspace') then v_kind || '_cap' else 'concurrency' end,
        v_facts || jsonb_build_object(
            'workflow', (select r.workflow_name from stepwell.workflow_registry as r
                where v_kind = 'workflow' and r.tenant_id = p_unit.tenant_id and r.workflow_id = split_part(p_unit.slot_key, ':', 2)::int),
            'workspace', (select s.workspace_name from stepwell.workspace as s
                where v_kind = 'workspace' and s.tenant_id = p_unit.tenant_id and s.workspace_id = split_part(p_unit.slot_key, ':', 2)::int)),
        case when v_kind in ('workflow', 'workspace') then 'operator' else 'engine' end;
end
$$;

-- Why a unit of the queue is not claimed: nobody serves it, its tenant has as many leases as it may, an open transaction keeps its
-- row; else it is about to be claimed. A unit that should be in the queue and is not is unexplained.
create or replace function stepwell._why_in_queue(p_unit stepwell.work_unit, p_name text)
returns table (code text, facts jsonb, who text)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_row record;
    v_cap constant int := (select t.max_concurrency from stepwell.tenant as t where t.tenant_id = p_unit.tenant_id);
begin
    select r.xmax as lock_of, case when r.is_retry then (
        select p.xmax from stepwell.run_progress as p
        where p.tenant_id = p_unit.tenant_id and p.run_id = stepwell._run_of(p_unit.unit_id)) end as lock_of_run
    into v_row
    from stepwell.job_ready as r where r.executor_class_id = p_unit.executor_class_id
        and r.tenant_id = p_unit.tenant_id and r.workspace_id = stepwell._workspace_of(p_unit.tenant_id, p_unit.unit_id) and r.rank = -p_unit.priority
        and r.operation_id = p_unit.operation_id and r.unit_id = p_unit.unit_id;
    if not found then
        return query select 'unexplained', jsonb_build_object('name', p_name, 'state', p_unit.state_code), 'operator';
        return;
    end if;
    return query select w.* from stepwell._why_unserved(p_unit, p_name) as w;
    if found then
        return;
    end if;
    if v_cap is not null and v_cap <= (select count(*) from stepwell.tenant_lease as l
        inner join stepwell.work_unit as u on l.tenant_id = u.tenant_id and l.unit_id = u.unit_id and l.lease_no = u.lease_no
        where l.tenant_id = p_unit.tenant_id and u.lease_session_id is not null) then
        return query select 'tenant_cap', jsonb_build_object('name', p_name, 'limit', v_cap), 'operator';
        return;
    end if;
    return query select 'locked', jsonb_build_object('name', p_name, 'pid', h.pid, 'program', h.program, 'since', h.since_at), 'operator'
    from (values (v_row.lock_of), (v_row.lock_of_run)) as x (lock_of)
    cross join lateral stepwell._transaction_holder(x.lock_of) as h
    where x.lock_of <> '0'::xid
    limit 1;
    if not found then
        return query select 'queued', jsonb_build_object('name', p_name, 'class', stepwell._class_name(p_unit.executor_class_id), 'place', (
            select count(*) from stepwell.job_ready as r where r.tenant_id = p_unit.tenant_id
                and r.executor_class_id = p_unit.executor_class_id and (r.rank, r.unit_id) <= (-p_unit.priority, p_unit.unit_id))), 'worker';
    end if;
end
$$;

-- Why no worker would claim this unit, however idle: none is there for its executor, none of them has its handler, or each that has
-- it must not claim: the executor or the workers are frozen, or the workers drain. No row when one would claim it.
create or replace function stepwell._why_unserved(p_unit stepwell.work_unit, p_name text)
returns table (code text, facts jsonb, who text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select case when s.session_count = 0 then 'no_worker' when s.serving_count = 0 then 'no_handler' when s.is_frozen then 'frozen'
            else 'drained' end,
        jsonb_build_object('name', p_name, 'class', stepwell._class_name(p_unit.executor_class_id), 'operation', o.operation_name,
            'worker', s.stopped_id, 'variant', case when s.serving_count > 0 and f.is_of_class then 'executor' end), 'operator'
    from stepwell.operation as o
    cross join lateral (select exists (select from stepwell.worker_stop as w
        where w.executor_class_id = p_unit.executor_class_id) as is_of_class) as f
    cross join lateral (
        select count(*) as session_count, count(*) filter (where v.serves) as serving_count,
            count(*) filter (where v.serves and p_unit.executor_class_id = any (x.claim_class_ids)) as claiming_count,
            min(x.session_id) filter (where v.serves) as stopped_id,
            coalesce(bool_or(f.is_of_class or exists (select from stepwell.worker_stop as w
                where w.worker_name = x.worker_name and w.stop_kind = 'frozen')) filter (where v.serves), false) as is_frozen
        from stepwell.worker_session as x
        cross join lateral (select x.handler_ids is null or o.handler_id = any (x.handler_ids) as serves) as v
        where x.closed_at is null and x.expires_at >= stepwell.now() and p_unit.executor_class_id = any (x.executor_class_ids)
    ) as s
    where o.tenant_id = p_unit.tenant_id and o.operation_id = p_unit.operation_id and s.claiming_count = 0
$$;

-- The name of an executor.
create or replace function stepwell._class_name(p_executor_class_id int) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select c.class_name from stepwell.executor_class as c where c.executor_class_id = p_executor_class_id
$$;

-- The session of the database in which this transaction has been open for more than five seconds; no row when it has ended, is
-- younger, or its age may not be read. It runs as owner, who may see more of other sessions, and shows no text of a query.
create or replace function stepwell._transaction_holder(p_transaction xid)
returns table (pid int, program text, since_at timestamptz)
language sql stable security definer
set search_path = stepwell, pg_temp
as $$
    select a.pid, coalesce(nullif(stepwell._redact_text(a.application_name), ''), a.usename::text, '?'), a.xact_start
    from pg_locks as l
    inner join pg_stat_activity as a on l.pid = a.pid
    where p_transaction <> '0'::xid and l.locktype = 'transactionid' and l.transactionid = p_transaction and l.granted
        and a.xact_start < clock_timestamp() - interval '5 seconds'
$$;
