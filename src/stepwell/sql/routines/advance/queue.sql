-- Units enter the queue without a state change, and leave everything that could start them. Callers hold the locks of
-- the runs.

-- Puts units into the queue whose state does not change: retries that are due, delayed jobs, units of a resumed run. A
-- unit with a concurrency key waits in line until the key has a free slot.
create or replace function stepwell._units_queue(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_limited boolean;
begin
    with wanted as (
        select u.tenant_id, u.executor_class_id, -u.priority as rank, u.operation_id, u.unit_id, u.slot_key, u.state_code = 'failed' as is_retry,
            case when p.run_id is null then stepwell._workspace_of(u.tenant_id, u.unit_id) else coalesce(p.workspace_id, 0) end as workspace_id
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        left join stepwell.run_progress as p on u.tenant_id = p.tenant_id and stepwell._run_of(u.unit_id) = p.run_id
        where u.executor_class_id is not null and p.frozen_at is null
    ), queued as (
        insert into stepwell.job_ready (tenant_id, workspace_id, executor_class_id, rank, operation_id, unit_id, is_retry)
        select w.tenant_id, w.workspace_id, w.executor_class_id, w.rank, w.operation_id, w.unit_id, w.is_retry
        from wanted as w
        where w.slot_key is null
        on conflict do nothing
    )
    select bool_or(w.slot_key is not null) into v_limited from wanted as w;
    if v_limited then
        perform stepwell._slots_take(p_tenant_ids, p_unit_ids);
    end if;
end
$$;

-- Removes units from everything that could still start or wake them: queue, line, timers, waits, approvals of their
-- actions. Their slots become free, also of those that a worker has: the caller ends these leases.
-- Locks: their slots first, because who holds a slot lets units of any run enter the queue: nothing enters it behind this
--   call. Then their job_ready rows (it waits for a claim that is running), then approvals, then the units.
create or replace function stepwell._units_dequeue(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_slot record;
    v_queued record;
    v_leased record;
begin
    select array_agg(u.tenant_id) as tenant_ids, array_agg(u.slot_key) as slot_keys
    into v_slot
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where u.slot_key is not null;
    if v_slot.slot_keys is not null then
        perform stepwell._slots_lock(v_slot.tenant_ids, v_slot.slot_keys);
    end if;
    with gone as (
        delete from stepwell.job_ready as r
        using unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        where r.executor_class_id = u.executor_class_id and r.tenant_id = u.tenant_id
            and r.workspace_id = stepwell._workspace_of(u.tenant_id, u.unit_id) and r.rank = -u.priority and r.operation_id = u.operation_id
            and r.unit_id = u.unit_id
        returning r.tenant_id, r.unit_id, u.slot_key
    )
    select array_agg(g.tenant_id) as tenant_ids, array_agg(g.unit_id) as unit_ids
    into v_queued
    from gone as g
    where g.slot_key is not null;
    delete from stepwell.job_line as l
    using unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where l.tenant_id = u.tenant_id and l.slot_key = u.slot_key and l.rank = -u.priority and l.unit_id = u.unit_id;
    delete from stepwell.timer as t
    using unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    where t.tenant_id = q.tenant_id and t.unit_id = q.unit_id;
    delete from stepwell.event_wait as w
    using unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    where w.tenant_id = q.tenant_id and w.unit_id = q.unit_id;
    perform stepwell._approvals_cancel(p_tenant_ids, p_unit_ids);
    -- Read now and not before: a claim may have been running, and what it leased has a slot.
    select array_agg(u.tenant_id) as tenant_ids, array_agg(u.unit_id) as unit_ids
    into v_leased
    from (
        select w.tenant_id, w.unit_id
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as w on q.tenant_id = w.tenant_id and q.unit_id = w.unit_id
        where w.slot_key is not null and w.lease_session_id is not null
        order by w.tenant_id, w.unit_id
        for update of w
    ) as u;
    if coalesce(v_queued.unit_ids, v_leased.unit_ids) is not null then
        perform stepwell._slots_free(v_queued.tenant_ids || v_leased.tenant_ids, v_queued.unit_ids || v_leased.unit_ids);
    end if;
    if exists (select from stepwell.tenant as t where t.tenant_id = any (p_tenant_ids) and t.max_concurrency is not null) then
        -- Under a tenant's cap their end makes room for what is in the queue.
        perform stepwell._workers_wake_all();
    end if;
end
$$;

-- Cancels the open approvals for actions of these units, in id order.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._approvals_cancel(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_open record;
begin
    select array_agg(a.tenant_id order by a.approval_id) as tenant_ids,
        array_agg(a.approval_id order by a.approval_id) as approval_ids
    into v_open
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.approval_detail as a on q.tenant_id = a.tenant_id and q.unit_id = a.subject_unit_id
    where a.action = 'act' and a.decided_at is null;
    if v_open.approval_ids is null then
        return;
    end if;
    perform stepwell._units_move(v_open.tenant_ids, v_open.approval_ids, 'cancelled', 'system', 'condition_resolved',
        'subject_ended', 'engine');
    perform stepwell._approvals_close(v_open.tenant_ids, v_open.approval_ids, 'engine');
end
$$;
