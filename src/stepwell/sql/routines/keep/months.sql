-- The months of the log that retention drops, and what the log says of them afterwards.

-- Drops the months of the event log that are completely older than the retention, and appends to the log of each tenant
-- which months it no longer has. A month that is in use now, or has an event that is not sealed yet, stays until the next
-- sweep, and so do all later ones: they may tell what retention removed of that month.
-- Locks: event_log exclusively; it waits at most two seconds for each.
create or replace function stepwell._retention_months(p_now timestamptz) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
set lock_timeout = '2s'
as $$
declare
    v_cutoff constant timestamptz := p_now - make_interval(days => stepwell._limit('retention.event_log_days'));
    v_seals constant boolean := stepwell._limit('audit.seal_interval_seconds') > 0;
    v_name text;
    v_count bigint := 0::bigint;
    v_is_unsealed boolean;
begin
    for v_name in
        select c.relname::text
        from pg_inherits as i
        inner join pg_class as c on i.inhrelid = c.oid
        where i.inhparent = 'stepwell.event_log'::regclass and c.relname ~ '^event_log_\d{4}_\d{2}$'
            and (to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month') at time zone 'UTC' <= v_cutoff
        order by c.relname
    loop
        -- A tenant that was never sealed has no chain yet.
        execute format('select exists (select from stepwell.tenant as t left join stepwell.audit_chain as c on t.tenant_id = c.tenant_id
            where exists (select from stepwell.%I as e where e.tenant_id = t.tenant_id
                and (e.tx, e.event_id) > (coalesce(c.last_tx, ''0''), coalesce(c.last_event_id, 0))))', v_name)
        into v_is_unsealed;
        if v_is_unsealed and v_seals then
            raise notice 'month % of the event log is not sealed yet; the next sweep tries again', v_name;
            exit;
        end if;
        begin
            perform stepwell._audit_archive(v_name);
            execute format('drop table stepwell.%I', v_name);
            v_count := v_count + 1;
        exception when lock_not_available then
            raise notice 'month % of the event log is in use; the next sweep tries again', v_name;
            exit;
        end;
    end loop;
    if v_count > 0 then
        perform stepwell._audit_leaves_remove();
    end if;
    return v_count;
end
$$;

-- Appends to the log of each tenant with a chain, or with events in it, that a month will be dropped: all months that were
-- dropped so far, and how many sealed events they had. So the event of an earlier month may be dropped too. While nothing is
-- sealed, this is what a later seal knows of the month.
-- Raises: what the log raises.
create or replace function stepwell._audit_archive(p_partition text) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_month constant text := replace(right(p_partition, 7), '_', '-');
    v_tenant_id int;
    v_count bigint;
    v_before jsonb;
begin
    -- The event of this month needs its partition.
    perform stepwell.fn_partitions_ensure(null, 0);
    for v_tenant_id, v_count in execute format('
        select t.tenant_id, (select count(*) from stepwell.%1$I as e
            where e.tenant_id = t.tenant_id and (e.tx, e.event_id) <= (c.last_tx, c.last_event_id))
        from stepwell.tenant as t
        left join stepwell.audit_chain as c on t.tenant_id = c.tenant_id
        where c.tenant_id is not null or exists (select from stepwell.%1$I as e where e.tenant_id = t.tenant_id)
        order by t.tenant_id', p_partition)
    loop
        select e.payload into v_before
        from stepwell.event_log as e
        where e.tenant_id = v_tenant_id and e.run_id = 0 and e.event_type = 'log.archived'
        order by e.tx desc, e.event_id desc
        limit 1;
        perform stepwell._event_append(v_tenant_id, 0, 'log.archived', 'engine', jsonb_build_object(
            'months', coalesce(v_before -> 'months', '[]') || to_jsonb(v_month),
            'event_count', coalesce((v_before ->> 'event_count')::bigint, 0) + v_count));
    end loop;
end
$$;

-- Removes the leaves of blocks without any event left. Their headers stay. The last block of a run that still exists
-- stays known, because the next block refers to it.
create or replace function stepwell._audit_leaves_remove() returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_oldest timestamptz;
begin
    select min(to_date(right(c.relname, 7), 'YYYY_MM'))::timestamp at time zone 'UTC' into v_oldest
    from pg_inherits as i
    inner join pg_class as c on i.inhrelid = c.oid
    where i.inhparent = 'stepwell.event_log'::regclass and c.relname ~ '^event_log_\d{4}_\d{2}$';
    delete from stepwell.audit_leaves as l using stepwell.audit_block as b
    where l.tenant_id = b.tenant_id and l.block_no = b.block_no and b.last_at < v_oldest;
    delete from stepwell.audit_block_stream as s using stepwell.audit_block as b
    where s.tenant_id = b.tenant_id and s.block_no = b.block_no and b.last_at < v_oldest
        and (exists (select from stepwell.audit_block_stream as later
                where later.tenant_id = s.tenant_id and later.run_id = s.run_id and later.block_no > s.block_no)
            or not exists (select from stepwell.work_unit as u
                where u.tenant_id = s.tenant_id and u.unit_id = stepwell._run_unit(s.run_id)));
end
$$;
