-- Purpose: faults of concurrency limits: slots in use that nobody holds, holders without a slot, a line before free slots.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._invariant_slots()
returns table (invariant text, fault text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with slot as (
        select s.tenant_id, s.slot_key, s.max_count, s.used_count, s.rate_count, s.rate_used_count, (
            select count(*) from stepwell.work_unit as u
            where u.tenant_id = s.tenant_id and u.slot_key = s.slot_key and (u.lease_session_id is not null or exists (
                select from stepwell.job_ready as r where r.tenant_id = u.tenant_id and r.class_id = u.class_id
                    and r.rank = -u.priority and r.unit_id = u.unit_id))
        ) as held_count, (
            select count(*) from stepwell.job_line as l where l.tenant_id = s.tenant_id and l.slot_key = s.slot_key
        ) as line_count
        from stepwell.concurrency_slot as s
    )
    select 'slots_equal_their_holders', format('%s: %s slots in use, %s held', s.slot_key, s.used_count, s.held_count)
    from slot as s
    where s.used_count <> s.held_count
    union all
    select 'slots_equal_their_holders', format('%s: %s in line before %s free slots', s.slot_key, s.line_count,
        s.max_count - s.used_count)
    from slot as s
    where s.line_count > 0 and s.used_count < s.max_count and s.rate_used_count < coalesce(s.rate_count, 1)
$$;
