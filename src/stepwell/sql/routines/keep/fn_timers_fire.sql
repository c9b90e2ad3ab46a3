-- Purpose: does what is due: entries of rate limits come back, retries and delayed starts enter the queue, sleepers and timed-out waits wake, deadlines
--   mark their units overdue. Returns how many it handled and when the next one is due.
-- Locks: the runs of the due units and those above, then their timers; bounded by p_limit.
-- Idempotency: a timer fires once: it is deleted in the transaction that acts on it.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell.fn_timers_fire(p_limit int default 500)
returns table (fired_count int, next_due_at timestamptz)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set random_page_cost = 0.01
set join_collapse_limit = 1
set jit = off
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_due record;
    v_part record;
    v_count int := 0;
begin
    v_count := stepwell._rates_return(v_now, p_limit);
    if v_count > 0 then
        perform stepwell._workers_wake(null);
    end if;
    select array_agg(t.tenant_id) as tenant_ids, array_agg(t.unit_id) as unit_ids
    into v_due
    from (
        select x.tenant_id, x.unit_id from stepwell.timer as x where x.due_at <= v_now order by x.due_at limit p_limit
    ) as x
    -- The end of an approval may move what it is about: that is locked first, with the others.
    cross join lateral (
        select x.tenant_id, x.unit_id
        union all
        select a.tenant_id, a.subject_unit_id from stepwell.approval_detail as a
        where a.tenant_id = x.tenant_id and a.approval_id = x.unit_id
    ) as t;
    if v_due.unit_ids is not null then
        perform stepwell._runs_lock_up(v_due.tenant_ids, v_due.unit_ids);
        perform stepwell._stream_lock(v_due.tenant_ids, v_due.unit_ids);
        for v_part in
            with gone as (
                delete from stepwell.timer as t
                using unnest(v_due.tenant_ids, v_due.unit_ids) as q (tenant_id, unit_id)
                where t.tenant_id = q.tenant_id and t.unit_id = q.unit_id and t.due_at <= v_now
                returning t.timer_kind, t.tenant_id, t.unit_id
            )
            select g.timer_kind, array_agg(g.tenant_id order by g.unit_id) as tenant_ids,
                array_agg(g.unit_id order by g.unit_id) as unit_ids
            from gone as g
            inner join stepwell.work_unit as u on g.tenant_id = u.tenant_id and g.unit_id = u.unit_id
            -- A timer that its unit has outlived wakes nobody, and must not stop the others.
            where case
                when g.timer_kind = 'sleep' then u.state_code = 'waiting'
                when g.timer_kind in ('start', 'retry') then u.state_code in ('ready', 'failed')
                else true end
            group by g.timer_kind
            order by g.timer_kind
        loop
            v_count := v_count + cardinality(v_part.unit_ids);
            case v_part.timer_kind
                when 'start', 'retry' then
                    perform stepwell._units_queue(v_part.tenant_ids, v_part.unit_ids);
                when 'sleep' then
                    perform stepwell._units_wake(v_part.tenant_ids, v_part.unit_ids, 'SLEPT', null, null, null);
                when 'wait_timeout' then
                    perform stepwell._waits_expire(v_part.tenant_ids, v_part.unit_ids);
                when 'deadline' then
                    perform stepwell._units_overdue(v_part.tenant_ids, v_part.unit_ids);
                else
                    perform stepwell._timers_people(v_part.timer_kind, v_part.tenant_ids, v_part.unit_ids);
            end case;
        end loop;
        perform stepwell._workers_wake(null);
    end if;
    return query select v_count, least((select min(t.due_at) from stepwell.timer as t),
        (select min(k.back_at) from stepwell.rate_token as k));
end
$$;
