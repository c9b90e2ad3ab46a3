-- Gaps in the queue. While an old transaction is open, vacuum cannot remove the rows of job_ready that were claimed, and
-- each look at the queue walks over them. A session of the database that walked far remembers where it found nothing: its
-- gaps. It does not walk there again. Rows that enter a gap later are found by put_by: each look first reads the rows of
-- all transactions that the look before could not see. So no row is missed, however late its transaction commits. The gaps
-- are in temporary tables: a rollback takes them back too, and an old transaction does not keep their dead rows.
-- The setting stepwell.gaps is `on` while this session remembers gaps. Decision 0029 has the reasons and the figures.

-- How many entries of the key of the queue this session has read, dead ones included, since some moment before this
-- transaction. The difference of two such numbers of one transaction says how far it walked.
create or replace function stepwell._walked_count() returns bigint
language sql volatile
as 'select pg_stat_get_xact_tuples_returned(''stepwell.job_ready_pkey''::regclass)';

-- Whether this transaction walked so far since it had this number that it is worth to remember gaps.
create or replace function stepwell._walked_far(p_walked_count bigint) returns boolean
language sql volatile
as 'select stepwell._walked_count() - p_walked_count > 3000';

-- Whether this session has the tables of gaps. Tables that another role has made under these names are not used.
create or replace function stepwell._gaps_exist() returns boolean
language sql volatile
set search_path = stepwell, pg_temp
as $$
    select count(*) = 2 from pg_class as c
    where c.oid in (to_regclass('pg_temp.queue_gap'), to_regclass('pg_temp.queue_seen'))
        and c.relkind = 'r' and pg_get_userbyid(c.relowner) = current_user
$$;

-- Begins to remember gaps, after a look that walked far. Not when the role may not make temporary tables, or another role
-- has made one of these names. Where only the setting was lost (reset all), what the tables have is still true.
create or replace function stepwell._gaps_begin() returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    if stepwell._gaps_exist() then
        perform set_config('stepwell.gaps', 'on', false);
        return;
    end if;
    if to_regclass('pg_temp.queue_gap') is not null or to_regclass('pg_temp.queue_seen') is not null
        or not has_database_privilege(current_database(), 'temporary') then
        return;
    end if;
    create temporary table queue_gap (
        executor_class_id int not null,
        from_place stepwell.queue_place not null,
        to_place stepwell.queue_place not null,
        walked_count bigint not null,
        constraint queue_gap_pkey primary key (executor_class_id, from_place)
    );
    create temporary table queue_seen (upto_id xid8 not null, open_ids xid8[] not null, expires_at timestamptz not null);
    insert into pg_temp.queue_seen (upto_id, open_ids, expires_at)
    select pg_snapshot_xmax(s.seen), array(select pg_snapshot_xip(s.seen)) || pg_current_xact_id(), stepwell.now() + interval '5 minutes'
    from pg_current_snapshot() as s (seen);
    perform set_config('stepwell.gaps', 'on', false);
end
$$;

-- Brings the gaps up to date; every look at the queue begins with it. Returns whether this session remembers gaps. Here,
-- and in all functions that look at the queue, each statement must see what the one before it saw, so they are volatile: a gap
-- that was found with an older view than that of this function would hide a row.
create or replace function stepwell._gaps_refresh() returns boolean
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant pg_snapshot := pg_current_snapshot();
    v_open_ids constant xid8[] := array(select pg_snapshot_xip(v_now));
    v_own_id constant xid8 := pg_current_xact_id_if_assigned();
    v_seen record;
begin
    if not stepwell._gaps_exist() then
        perform set_config('stepwell.gaps', 'off', false);
        return false;
    end if;
    select s.upto_id, s.open_ids, s.expires_at into v_seen from pg_temp.queue_seen as s;
    if v_seen.expires_at < stepwell.now() then
        return stepwell._gaps_renew();
    end if;
    -- What the look before could not see: transactions that began after it, and those that were open.
    if (select r.unit_id from stepwell.job_ready as r where r.put_by >= v_seen.upto_id order by r.put_by limit 1) is not null
        or exists (select from stepwell.job_ready as r where r.put_by = any (v_seen.open_ids)) then
        perform stepwell._gaps_divide(v_seen.upto_id, v_seen.open_ids);
    end if;
    -- This transaction may put rows after this look, so it counts as open.
    update pg_temp.queue_seen as s
    set upto_id = pg_snapshot_xmax(v_now), open_ids = case when v_own_id is null then v_open_ids else v_open_ids || v_own_id end
    where s.upto_id <> pg_snapshot_xmax(v_now)
        or s.open_ids <> case when v_own_id is null then v_open_ids else v_open_ids || v_own_id end;
    return true;
end
$$;

-- Forgets all gaps, five minutes after the first of them: a row that was overlooked in whatever way is found then. Where no
-- walk was far in this time, no gaps are remembered any more. Otherwise the tables are made again: an old temporary table would
-- keep the numbers of old transactions in use.
create or replace function stepwell._gaps_renew() returns boolean
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_is_needed constant boolean := exists (select from pg_temp.queue_gap as g where g.walked_count > 3000);
begin
    drop table pg_temp.queue_gap, pg_temp.queue_seen;
    perform set_config('stepwell.gaps', 'off', false);
    if v_is_needed then
        perform stepwell._gaps_begin();
    end if;
    return v_is_needed;
end
$$;

-- Divides the gaps that rows of these transactions have entered. Between two such rows a gap remains only where units of
-- many runs can be between them.
create or replace function stepwell._gaps_divide(p_from_id xid8, p_open_ids xid8[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    with late as materialized (
        select r.executor_class_id, row(r.tenant_id, r.workspace_id, r.rank, r.operation_id, r.unit_id)::stepwell.queue_place as place
        from stepwell.job_ready as r
        where r.put_by >= p_from_id
        union all
        select r.executor_class_id, row(r.tenant_id, r.workspace_id, r.rank, r.operation_id, r.unit_id)::stepwell.queue_place as place
        from stepwell.job_ready as r
        where r.put_by = any (p_open_ids) and r.put_by < p_from_id
    ), hit as materialized (
        select l.executor_class_id, l.place, g.from_place, g.to_place, g.walked_count, row_number() over w as no,
            lead(l.place) over w as next_place
        from late as l
        cross join lateral (
            select q.from_place, q.to_place, q.walked_count
            from pg_temp.queue_gap as q
            where q.executor_class_id = l.executor_class_id and q.from_place <= l.place
            order by q.from_place desc limit 1
        ) as g
        where l.place < g.to_place
        window w as (partition by l.executor_class_id, g.from_place order by l.place)
    ), gone as (
        delete from pg_temp.queue_gap as g using hit as h
        where h.no = 1 and g.executor_class_id = h.executor_class_id and g.from_place = h.from_place and h.place = h.from_place
    ), shortened as (
        update pg_temp.queue_gap as g set to_place = h.place from hit as h
        where h.no = 1 and g.executor_class_id = h.executor_class_id and g.from_place = h.from_place and h.place > h.from_place
    )
    insert into pg_temp.queue_gap (executor_class_id, from_place, to_place, walked_count)
    select h.executor_class_id, x.from_place, x.to_place, h.walked_count
    from hit as h
    cross join lateral (
        select row((h.place).tenant_id, (h.place).workspace_id, (h.place).rank, (h.place).operation_id,
            (h.place).unit_id + 1)::stepwell.queue_place as from_place, coalesce(h.next_place, h.to_place) as to_place
    ) as x
    where x.from_place < x.to_place and not (
        stepwell._is_same_lane(x.from_place, x.to_place) and (x.to_place).unit_id - (x.from_place).unit_id < 64::bigint << 20);
end
$$;

-- The first row of an executor class at this place or behind it, without a walk through the gaps; null when there is none.
-- Where the walk was long, it is a gap from now on.
create or replace function stepwell._place_next(p_executor_class_id int, p_place stepwell.queue_place)
returns stepwell.queue_place
language plpgsql volatile
as $$
declare
    v_last constant stepwell.queue_place := row(2147483647, 2147483647, 32767, 2147483647, 9223372036854775807);
    v_walked_count bigint := stepwell._walked_count();
    v_from stepwell.queue_place := p_place;
    v_at stepwell.queue_place := p_place;
    v_upto stepwell.queue_place;
    v_found stepwell.queue_place;
    v_gap record;
    v_is_joined boolean := false;
begin
    select g.from_place, g.to_place into v_gap
    from pg_temp.queue_gap as g
    where g.executor_class_id = p_executor_class_id and g.from_place <= p_place
    order by g.from_place desc limit 1;
    if v_gap.to_place > p_place then
        v_from := v_gap.from_place;
        v_at := v_gap.to_place;
    end if;
    loop
        select g.from_place, g.to_place into v_gap
        from pg_temp.queue_gap as g
        where g.executor_class_id = p_executor_class_id and g.from_place >= v_at
        order by g.from_place limit 1;
        v_upto := case when v_gap.from_place is null then v_last else v_gap.from_place end;
        select r.tenant_id, r.workspace_id, r.rank::int, r.operation_id, r.unit_id into v_found
        from stepwell.job_ready as r
        where r.executor_class_id = p_executor_class_id
            and (r.tenant_id, r.workspace_id, r.rank, r.operation_id, r.unit_id)
                >= (v_at.tenant_id, v_at.workspace_id, v_at.rank::smallint, v_at.operation_id, v_at.unit_id)
            and (r.tenant_id, r.workspace_id, r.rank, r.operation_id, r.unit_id)
                < (v_upto.tenant_id, v_upto.workspace_id, v_upto.rank::smallint, v_upto.operation_id, v_upto.unit_id)
        order by r.executor_class_id, r.tenant_id, r.workspace_id, r.rank, r.operation_id, r.unit_id
        limit 1;
        exit when found or v_gap.from_place is null;
        v_at := v_gap.to_place;
        v_is_joined := true;
    end loop;
    v_walked_count := stepwell._walked_count() - v_walked_count;
    if v_walked_count > 64 or v_is_joined then
        -- Without a row the variable is a row of nulls, not null.
        v_upto := case when v_found is null then v_last else v_found end;
        delete from pg_temp.queue_gap as g
        where g.executor_class_id = p_executor_class_id and g.from_place > v_from and g.from_place < v_upto;
        insert into pg_temp.queue_gap as g (executor_class_id, from_place, to_place, walked_count)
        values (p_executor_class_id, v_from, v_upto, v_walked_count)
        on conflict on constraint queue_gap_pkey do update
        set to_place = excluded.to_place, walked_count = greatest(g.walked_count, excluded.walked_count);
    end if;
    return v_found;
end
$$;

-- The unit at which the next gap of a lane begins, behind this place; the highest number when the lane has no more gaps.
create or replace function stepwell._gap_next(p_executor_class_id int, p_place stepwell.queue_place) returns bigint
language plpgsql volatile
as $$
declare
    v_gap stepwell.queue_place;
begin
    select (g.from_place).* into v_gap
    from pg_temp.queue_gap as g
    where g.executor_class_id = p_executor_class_id and g.from_place > p_place
    order by g.from_place limit 1;
    return case when stepwell._is_same_lane(v_gap, p_place) then v_gap.unit_id else 9223372036854775807 end;
end
$$;

-- Whether two places are in the same lane.
create or replace function stepwell._is_same_lane(p_place stepwell.queue_place, p_other stepwell.queue_place) returns boolean
language sql immutable parallel safe
as $$
    select (p_place.tenant_id, p_place.workspace_id, p_place.rank, p_place.operation_id)
        = (p_other.tenant_id, p_other.workspace_id, p_other.rank, p_other.operation_id)
$$;
