-- Purpose: remembers which months of the log retention dropped, and lets go of the leaves of blocks that have no event
--   left. Their headers stay. The last block of a stream that still lives stays known, for the next one refers to it.
-- Locks: none that anybody waits for.
-- Idempotency: yes.
-- Raises: nothing.
create or replace function stepwell._audit_archive(p_months date[], p_now timestamptz) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_oldest timestamptz;
begin
    insert into stepwell.audit_archived_month (month, archived_at)
    select m, p_now from unnest(p_months) as m
    on conflict (month) do nothing;
    select min(to_date(right(c.relname, 7), 'YYYY_MM')) at time zone 'UTC' into v_oldest
    from pg_inherits as i
    inner join pg_class as c on i.inhrelid = c.oid
    where i.inhparent = 'stepwell.event_log'::regclass and c.relname ~ '^event_log_\d{4}_\d{2}$';
    delete from stepwell.audit_leaves as l using stepwell.audit_block as b
    where l.tenant_id = b.tenant_id and l.block_no = b.block_no and b.last_at < v_oldest;
    delete from stepwell.audit_block_stream as s using stepwell.audit_block as b
    where s.tenant_id = b.tenant_id and s.block_no = b.block_no and b.last_at < v_oldest
        and (exists (select from stepwell.audit_block_stream as later
                where later.tenant_id = s.tenant_id and later.stream_id = s.stream_id and later.block_no > s.block_no)
            or not exists (select from stepwell.work_unit as u
                where u.tenant_id = s.tenant_id and u.unit_id = s.stream_id << 20));
end
$$;
