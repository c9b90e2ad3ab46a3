-- Purpose: why a unit that could run does not: its time has not come, it stands in line behind a limit, nobody serves
--   its class, it is about to be taken, or it is a person's.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._why_not_claimed(p_unit stepwell.work_unit, p_name text)
returns table (code text, facts jsonb, who text)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_found record;
    v_class text;
begin
    select t.timer_kind, t.due_at into v_found from stepwell.timer as t
    where t.tenant_id = p_unit.tenant_id and t.unit_id = p_unit.unit_id and t.timer_kind in ('start', 'retry');
    if found then
        return query select case v_found.timer_kind when 'retry' then 'retry' else 'schedule' end,
            jsonb_build_object('name', p_name, 'at', v_found.due_at, 'attempt', p_unit.attempt_count + 1,
                'max_attempts', p_unit.max_attempts), 'clock';
        return;
    end if;
    if p_unit.class_id is null then
        select d.config ->> 'role' as role into v_found
        from stepwell.workflow_step_def as d
        where d.tenant_id = p_unit.tenant_id and d.version_id = p_unit.version_id and d.step_no = p_unit.def_no
            and d.step_kind = 'human';
        return query select case when not found and p_unit.scope <> 'task' then 'unexplained'
            when p_unit.pic_id is not null then 'assigned' else 'human' end,
            jsonb_build_object('name', p_name, 'role', coalesce(v_found.role, '—'), 'state', p_unit.state_code,
                'person', stepwell._person_name(p_unit.tenant_id, p_unit.pic_id)),
            coalesce('person:' || stepwell._person_name(p_unit.tenant_id, p_unit.pic_id), 'role:' || v_found.role, 'anyone');
        return;
    end if;
    select c.class_name into v_class from stepwell.executor_class as c where c.class_id = p_unit.class_id;
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
    if found and v_found.by_rate then
        return query select 'rate', jsonb_build_object('name', p_name, 'key', p_unit.slot_key, 'place', v_found.place,
            'limit', v_found.rate_count, 'seconds', v_found.rate_seconds, 'at', v_found.back_at), 'clock';
    elsif found then
        return query select 'concurrency', jsonb_build_object('name', p_name, 'key', p_unit.slot_key,
            'limit', v_found.max_count, 'place', v_found.place), 'engine';
    elsif not exists (select from stepwell.job_ready as r where r.tenant_id = p_unit.tenant_id
        and r.class_id = p_unit.class_id and r.rank = -p_unit.priority and r.unit_id = p_unit.unit_id) then
        return query select 'unexplained', jsonb_build_object('name', p_name, 'state', p_unit.state_code), 'operator';
    elsif not exists (select from stepwell.worker_session as s
        where s.closed_at is null and s.expires_at >= stepwell.now() and p_unit.class_id = any (s.class_ids)) then
        return query select 'no_worker', jsonb_build_object('name', p_name, 'class', v_class), 'operator';
    elsif (select count(*) from stepwell.tenant_lease as l
            inner join stepwell.work_unit as u on l.tenant_id = u.tenant_id and l.unit_id = u.unit_id and l.lease_no = u.lease_no
            where l.tenant_id = p_unit.tenant_id and u.lease_session_id is not null)
        >= (select t.max_concurrency from stepwell.tenant as t where t.tenant_id = p_unit.tenant_id) then
        return query select 'tenant_cap', jsonb_build_object('name', p_name, 'limit',
            (select t.max_concurrency from stepwell.tenant as t where t.tenant_id = p_unit.tenant_id)), 'operator';
    else
        return query select 'queued', jsonb_build_object('name', p_name, 'class', v_class, 'place', (
            select count(*) from stepwell.job_ready as r where r.tenant_id = p_unit.tenant_id
                and r.class_id = p_unit.class_id and (r.rank, r.unit_id) <= (-p_unit.priority, p_unit.unit_id))), 'worker';
    end if;
end
$$;
