-- The invariants online: the keeper checks them slice by slice while the system works. A slice is the rows of a few runs, found by the
-- key of the units, so that no check reads more than what belongs to them.

-- Something that changes with each event, each refused event and each change of content: while it stays the same, only time
-- can make something wrong, and the keeper looks less often.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_watch_mark() returns bigint
language sql stable security definer
set search_path = stepwell, pg_temp
as $$
    select e.last_value + a.last_value + i.last_value
    from stepwell.event_seq as e, stepwell.event_validation_audit_audit_id_seq as a, stepwell.iu_lifecycle_log_entry_id_seq as i
$$;

-- Checks the next slice, opens a problem for each row at fault, and checks some open ones again: a problem is closed, with its event,
-- only when a check of exactly that row finds it good. Returns how many problems it opened or closed. The next slice has as many
-- runs as fit into integrity.slice_milliseconds. After a whole pass it rests while nothing happens, for an hour at most.
-- Locks: the row of the watch, then rows of problems and of their counts.
-- Idempotency: a problem is opened and closed once.
-- Raises: nothing of its own.
create or replace function stepwell.fn_integrity_watch() returns int
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_watch stepwell.integrity_watch;
    v_begun_at timestamptz;
    v_slice record;
    v_target_ms constant int := stepwell._limit('integrity.slice_milliseconds');
    v_took_ms float8;
    v_count int := stepwell._integrity_again(5);
begin
    select w.* into v_watch from stepwell.integrity_watch as w for update skip locked;
    if not found then
        return v_count;
    end if;
    if (v_watch.tenant_id, v_watch.unit_id) = (0, 0) then
        v_watch.begun_mark := stepwell.fn_watch_mark();
        if v_watch.begun_mark = v_watch.whole_mark and v_watch.whole_at between v_now - interval '1 hour' and v_now then
            return v_count;
        end if;
    end if;
    v_begun_at := clock_timestamp();
    v_slice := stepwell._slice_next(v_watch.tenant_id, v_watch.unit_id, v_watch.run_count);
    if v_slice.tenant_id is null then
        update stepwell.integrity_watch as w
        set tenant_id = 0, unit_id = 0, whole_mark = v_watch.begun_mark, whole_at = v_now;
        return v_count;
    end if;
    v_count := v_count + stepwell._integrity_open(v_slice.tenant_id, v_slice.from_id, v_slice.upto_id);
    v_took_ms := (extract(epoch from clock_timestamp() - v_begun_at) * 1000)::float8;
    update stepwell.integrity_watch as w
    set tenant_id = v_slice.tenant_id, unit_id = v_slice.upto_id, begun_mark = v_watch.begun_mark,
        -- No more than twice as many at once: one quick slice says little about the next.
        run_count = greatest(1, least(500, v_watch.run_count * 2, (v_slice.run_count * v_target_ms / greatest(v_took_ms, 0.1))::int));
    return v_count;
end
$$;

-- The next runs and jobs after this unit, in the order of tenants and units, as one range of units; null at the end. Each is found by
-- one look into the key.
create or replace function stepwell._slice_next(
    p_tenant_id int, p_unit_id bigint, p_run_count int, out tenant_id int, out from_id bigint, out upto_id bigint, out run_count int
)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_next record;
    v_after_tenant_id int := p_tenant_id;
    v_after_id bigint := p_unit_id;
begin
    run_count := 0;
    while run_count < p_run_count loop
        select u.tenant_id, u.unit_id into v_next
        from stepwell.work_unit as u
        where (u.tenant_id, u.unit_id) > (v_after_tenant_id, v_after_id)
        order by u.tenant_id, u.unit_id limit 1;
        exit when not found or (run_count > 0 and v_next.tenant_id <> v_after_tenant_id);
        tenant_id := v_next.tenant_id;
        upto_id := stepwell._run_last(stepwell._run_of(v_next.unit_id));
        from_id := coalesce(from_id, stepwell._run_unit(stepwell._run_of(v_next.unit_id)));
        run_count := run_count + 1;
        v_after_tenant_id := tenant_id;
        v_after_id := upto_id;
    end loop;
end
$$;

-- The faults of a range of units of a tenant: one row for each invariant and unit. It reads the rows of whole runs.
create or replace function stepwell._slice_faults(p_tenant_id int, p_from_id bigint, p_upto_id bigint)
returns table (invariant text, unit_id bigint, fault text)
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
begin
    perform set_config('stepwell.slice', concat_ws(',', p_tenant_id, p_from_id, p_tenant_id, p_upto_id, 1), true);
    return query
    select f.invariant, f.unit_id, left(string_agg(f.fault, '; ' order by f.fault), 1000)
    from stepwell._faults_of_runs() as f
    group by f.invariant, f.unit_id
    order by f.invariant, f.unit_id limit 100;
    perform set_config('stepwell.slice', '', true);
end
$$;

-- Opens a problem for each row at fault in a range. What is found once is looked at again, in a later moment of the log: only what is still
-- wrong becomes a problem. What somebody closed within a day is not opened again. Returns how many it opened.
create or replace function stepwell._integrity_open(p_tenant_id int, p_from_id bigint, p_upto_id bigint) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_fault record;
    v_count int := 0;
begin
    if not exists (select from stepwell._slice_faults(p_tenant_id, p_from_id, p_upto_id)) then
        return 0;
    end if;
    for v_fault in
        select f.invariant, f.unit_id, f.fault, format('invariant:%s:%s', f.invariant, f.unit_id) as subject
        from stepwell._slice_faults(p_tenant_id, p_from_id, p_upto_id) as f
    loop
        continue when exists (select from stepwell.governance_problem as p
            where p.tenant_id = p_tenant_id and p.category_code = 'integrity_warning' and p.subject = v_fault.subject
                and (p.closed_at is null or (p.closed_by <> 'keeper' and p.closed_at > stepwell.now() - interval '1 day')));
        perform stepwell._watch_open_one(p_tenant_id, 'integrity_warning', v_fault.subject,
            stepwell._title_of(p_tenant_id, v_fault.unit_id), v_fault.unit_id, v_fault.fault, null);
        v_count := v_count + 1;
    end loop;
    return v_count;
end
$$;

-- Checks the rows of some open problems again, those first that were not looked at for longest, each at most once a minute. Returns how
-- many were good and are closed.
create or replace function stepwell._integrity_again(p_limit int) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_open record;
    v_count int := 0;
begin
    for v_open in
        select p.tenant_id, p.problem_id, p.subject, p.unit_id, stepwell._run_of(p.unit_id) as run_id
        from stepwell.governance_problem as p
        where p.category_code = 'integrity_warning' and p.closed_at is null and p.duty = 'watch' and p.subject like 'invariant:%'
            and p.last_seen_at < stepwell.now() - interval '1 minute'
        order by p.last_seen_at limit p_limit
    loop
        if exists (select from stepwell._slice_faults(v_open.tenant_id, stepwell._run_unit(v_open.run_id), stepwell._run_last(v_open.run_id)) as f
            where format('invariant:%s:%s', f.invariant, f.unit_id) = v_open.subject) then
            update stepwell.governance_problem as p set last_seen_at = stepwell.now(), seen_count = p.seen_count + 1
            where p.tenant_id = v_open.tenant_id and p.problem_id = v_open.problem_id;
        else
            v_count := v_count + stepwell._problem_close(v_open.tenant_id, v_open.problem_id, 'keeper', 'a check of the row finds it good')::int;
        end if;
    end loop;
    return v_count;
end
$$;

-- One slice for the doctor, which goes through all of them: the faults with their remedies, and where the next slice begins (null at the
-- end). The limits of keys, which belong to no run, are checked with the first slice.
-- Locks: none.
-- Idempotency: changes nothing.
-- Raises: SW001 for a number of runs out of range.
create or replace function stepwell.fn_integrity_look(p_after_tenant_id int, p_unit_id bigint, p_run_count int default 200) returns json
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_slice record;
begin
    if p_run_count is null or p_run_count not between 1 and 1000 then
        raise exception using errcode = 'SW001', column = 'run_count', message = 'run_count: 1 to 1000 are accepted';
    end if;
    v_slice := stepwell._slice_next(p_after_tenant_id, p_unit_id, p_run_count);
    return (
        select json_build_object('tenant_id', v_slice.tenant_id, 'unit_id', v_slice.upto_id, 'runs', coalesce(v_slice.run_count, 0),
            'faults', coalesce(json_agg(json_build_object('invariant', f.invariant, 'fault', f.fault,
                'en', stepwell._text_fill('integrity.remedy.' || f.invariant, 'en', '{}'),
                'vi', stepwell._text_fill('integrity.remedy.' || f.invariant, 'vi', '{}')) order by f.invariant, f.fault), '[]'))
        from (
            select x.invariant, x.fault from stepwell._slice_faults(v_slice.tenant_id, v_slice.from_id, v_slice.upto_id) as x
            where v_slice.tenant_id is not null
            union all
            select s.invariant, s.fault from stepwell._invariant_slots() as s where (p_after_tenant_id, p_unit_id) = (0, 0)
        ) as f
    );
end
$$;

-- The sessions of the database that hold others up: the one whose old transaction keeps vacuum from removing dead rows (`horizon`), and
-- the one on whose lock another waits longest (`lock`), with the text of its last query without secrets; and for how many months after
-- this one the log has its partition. Null where there is none.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell.fn_sessions_in_the_way() returns json
language sql stable security definer
set search_path = stepwell, pg_temp
as $$
    select json_build_object(
        'horizon', (
            select json_build_object('pid', a.pid, 'program', stepwell._redact_text(a.application_name), 'role', a.usename, 'database', a.datname,
                'state', a.state, 'seconds', extract(epoch from clock_timestamp() - coalesce(a.xact_start, a.backend_start))::float8,
                'transactions', greatest(age(a.backend_xmin), age(a.backend_xid)), 'query', stepwell._redact_text(left(a.query, 200)))
            from pg_stat_activity as a
            where (a.backend_xmin is not null or a.backend_xid is not null) and a.pid <> pg_backend_pid()
            order by greatest(age(a.backend_xmin), age(a.backend_xid)) desc nulls last, a.xact_start
            limit 1),
        'lock', (
            select json_build_object('pid', b.pid, 'program', stepwell._redact_text(b.application_name), 'role', b.usename, 'database', b.datname,
                'state', b.state, 'seconds', extract(epoch from clock_timestamp() - w.waitstart)::float8,
                'waits', w.pid, 'query', stepwell._redact_text(left(b.query, 200)))
            from (
                select l.pid, l.waitstart, (pg_blocking_pids(l.pid))[1] as blocking_pid
                from pg_locks as l where not l.granted and l.waitstart is not null order by l.waitstart limit 1
            ) as w
            inner join pg_stat_activity as b on w.blocking_pid = b.pid),
        'months_left', (
            select count(*) from generate_series(1, 12) as m (ahead)
            where to_regclass('stepwell.event_log_' || to_char((date_trunc('month', stepwell.now() at time zone 'UTC')
                + make_interval(months => m.ahead)), 'YYYY_MM')) is not null))
$$;
