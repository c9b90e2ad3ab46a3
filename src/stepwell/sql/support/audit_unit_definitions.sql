-- Units and runs whose columns differ from their definition, or from the record that they belong to: number of the unit,
-- names of the columns. The hash of the definition of a run is in its sealed input.
with unit as materialized (
    select u.*, u.unit_id & 1048575 as unit_no, r.version_id as run_version_id, r.parent_unit_id, w.priority as run_priority,
        r.run_id is not null as has_run, j.job_id is not null as is_job, a.approval_id is not null as is_approval,
        a.subject_unit_id, a.expires_at, c.receipt_id is not null as is_receipt, c.unit_id as effect_unit_id,
        j.workspace_id, p.proposal_id is not null or l.plan_id is not null as is_proposal, k.cut_request_id is not null as is_cut, t.unit_id is not null as is_task, t.step_run_id, t.form is not null as has_form
    from stepwell.work_unit as u
    left join stepwell.run_detail as r on u.tenant_id = r.tenant_id and u.unit_id >> 20 = r.run_id
    left join stepwell.work_unit as w on r.tenant_id = w.tenant_id and r.run_id << 20 = w.unit_id
    left join stepwell.job_detail as j on u.tenant_id = j.tenant_id and u.unit_id = j.job_id
    left join stepwell.approval_detail as a on u.tenant_id = a.tenant_id and u.unit_id = a.approval_id
    left join stepwell.action_receipt as c on u.tenant_id = c.tenant_id and u.unit_id = c.receipt_id
    left join stepwell.policy_set as p on u.tenant_id = p.tenant_id and u.unit_id = p.proposal_id
    left join stepwell.dlq_replay_plan as l on u.tenant_id = l.tenant_id and u.unit_id = l.plan_id
    left join stepwell.cut_request_detail as k on u.tenant_id = k.tenant_id and u.unit_id = k.cut_request_id
    left join stepwell.task_detail as t on u.tenant_id = t.tenant_id and u.unit_id = t.unit_id
    where u.tenant_id = %(tenant_id)s
), known as (
    select u.*, case when u.is_job then 'job' when u.is_approval then 'approval' when u.is_receipt then 'receipt'
        when u.is_proposal then 'proposal' when u.is_cut then 'cut_request' when u.is_task then 'task' when u.has_run and u.unit_no = 0 then 'workflow_run'
        when u.has_run then 'step' end as kind,
        -- A step outside a Map has the number of its definition.
        coalesce(z.step_no, u.def_no) as step_no, z.step_no is not null as is_outside
    from unit as u
    left join stepwell.workflow_step_def as z on u.tenant_id = z.tenant_id and u.run_version_id = z.version_id
        and u.unit_no = z.step_no and z.scope_no = 0
), compared as (
    select u.unit_id, array_remove(array[
        case when u.scope is distinct from u.kind then 'scope' end,
        case when not exists (select from stepwell.state_def as s where s.state_machine_id = u.state_machine_id)
            or split_part(u.state_machine_id, '.', 1) is distinct from u.kind then 'state_machine_id' end,
        case when u.version_id is distinct from u.run_version_id then 'version_id' end,
        case when u.def_no is distinct from case u.kind when 'workflow_run' then 0 when 'step' then d.step_no end
            or u.kind = 'step' and d.step_no is null then 'def_no' end,
        case when (u.item_no is not null) is distinct from (u.kind = 'step' and not u.is_outside)
            or u.item_no is not null and u.parent_id is not null and u.unit_no - u.def_no - u.item_no * z.size is distinct from
                min(u.unit_no - u.def_no - u.item_no * z.size) over (partition by u.parent_id) then 'item_no' end,
        case when case u.kind when 'workflow_run' then u.parent_id is distinct from u.parent_unit_id
                when 'approval' then u.parent_id is distinct from u.subject_unit_id
                when 'receipt' then u.parent_id is distinct from u.effect_unit_id
                when 'task' then u.parent_id is distinct from u.step_run_id
                when 'step' then case when u.is_outside then u.parent_id is not null
                    -- A Map that begins again forgets its former items.
                    else not exists (select from stepwell.work_unit as m where m.tenant_id = u.tenant_id and m.def_no = d.scope_no
                        and m.unit_id between (u.unit_id >> 20) << 20 and ((u.unit_id >> 20) << 20) + 1048575
                        and (m.unit_id = u.parent_id or u.parent_id is null and m.lease_no > 1)) end
                else u.parent_id is not null end then 'parent_id' end,
        case when case u.kind when 'step' then u.operation_id is distinct from d.operation_id
                -- The engine lets a worker evaluate a costly expression of a step that has no operation.
                and not (d.operation_id is null and exists (select from stepwell.operation as o
                    where o.tenant_id = u.tenant_id and o.operation_id = u.operation_id and o.operation_name = 'stepwell.evaluate'))
                when 'job' then e.audit_ref is distinct from 'operation:' || q.operation_name and e.audit_ref is not null
                    or q.operation_name is null
                when 'task' then false
                else u.operation_id is not null end then 'operation_id' end,
        case when (u.executor_class_id is null) is distinct from (u.operation_id is null)
            or u.executor_class_id is not null and not exists (select from stepwell.executor_class as x
                where x.executor_class_id = u.executor_class_id) then 'executor_class_id' end,
        case when u.mandatory is distinct from case u.kind when 'step' then u.is_outside and d.mandatory when 'task' then false
            else true end then 'mandatory' end,
        case when u.has_contract is distinct from case u.kind when 'step' then d.has_contract or exists (
                select from stepwell.task_detail as t where t.tenant_id = u.tenant_id and t.step_run_id = u.unit_id)
                when 'task' then u.has_form else false end
            and not (u.kind = 'step' and d.operation_id is null and u.operation_id is not null) then 'has_contract' end,
        case when case u.kind when 'step' then u.max_attempts is distinct from d.max_attempts
                and not (d.operation_id is null and u.operation_id is not null)
                when 'job' then coalesce(u.max_attempts < 1, true) when 'task' then coalesce(u.max_attempts < 1, true)
                else u.max_attempts is distinct from 1 end then 'max_attempts' end,
        case when case u.kind when 'step' then u.priority is distinct from d.priority + case when u.is_outside then u.run_priority
                else coalesce(m.priority, u.priority - d.priority) end
                when 'task' then u.priority is distinct from m.priority
                when 'workflow_run' then u.priority is null
                when 'job' then coalesce(u.priority::text <> coalesce(e.payload ->> 'priority', '0') and e.event_id is not null, true)
                else u.priority is distinct from 0 end then 'priority' end,
        case when u.kind = 'job' and e.event_id is not null and (u.workspace_id is null) is distinct from (e.payload ->> 'workspace' is null)
            or u.workspace_id is not null and not exists (select from stepwell.workspace as y where y.tenant_id = u.tenant_id
                and y.workspace_id = u.workspace_id and y.workspace_name = coalesce(e.payload ->> 'workspace', y.workspace_name))
            then 'job_detail.workspace_id' end,
        case when u.pending_count is distinct from 0 and u.kind <> 'step' then 'pending_count'
            when u.kind = 'step' and u.state_code <> 'not_started' and d.step_kind <> 'map' and u.pending_count is distinct from 0
            then 'pending_count'
            when u.kind = 'step' and u.pending_count is distinct from case
                -- Before it begins, a step counts the steps before it that have not ended; a Map that has begun, its own.
                when u.state_code = 'not_started' and d.config ?| array['join', 'delay_seconds'] then (
                    -- A job of a graph waits for one of its parents, or for all, and for its delay.
                    select case when d.config ->> 'join' = 'any' then greatest(1 - n.done_count + case when n.is_delayed then n.all_count else 0 end, 0)
                        else n.all_count - n.done_count + n.is_delayed::int end
                    from (select count(*) as all_count, count(*) filter (where b.state_code in ('completed', 'skipped')) as done_count,
                            exists (select from stepwell.timer as y where y.tenant_id = u.tenant_id and y.unit_id = u.unit_id
                                and y.timer_kind = 'start') as is_delayed
                        from stepwell.workflow_step_relations as r
                        inner join stepwell.work_unit as b on b.tenant_id = u.tenant_id and b.unit_id = u.unit_id + r.from_no - u.def_no
                        where r.tenant_id = u.tenant_id and r.version_id = u.run_version_id and r.to_no = u.def_no) as n)
                when u.state_code = 'not_started' then (
                    select count(*) from stepwell.workflow_step_relations as r
                    inner join stepwell.work_unit as b on b.tenant_id = u.tenant_id and b.unit_id = u.unit_id + r.from_no - u.def_no
                    where r.tenant_id = u.tenant_id and r.version_id = u.run_version_id and r.to_no = u.def_no
                        and b.state_code not in ('completed', 'skipped', 'cancelled', 'cannot_complete'))
                when d.step_kind = 'map' and u.state_code not in ('ready', 'cancelled') then (
                    select count(*) from stepwell.work_unit as b where b.tenant_id = u.tenant_id and b.parent_id = u.unit_id
                        and b.scope = 'step' and b.state_code not in ('completed', 'skipped', 'cancelled', 'cannot_complete'))
                else coalesce(u.pending_count, -1) end then 'pending_count' end,
        case when u.failure_caught is distinct from false and (u.kind <> 'step' or u.state_code not in ('cannot_complete', 'cancelled'))
            then 'failure_caught' end,
        case when u.blocked_escalated is distinct from false and u.state_code is distinct from 'blocked' then 'blocked_escalated' end,
        case when u.slot_key is not null and (u.operation_id is null or not exists (select from stepwell.concurrency_slot as s
            where s.tenant_id = u.tenant_id and s.slot_key = u.slot_key))
            and u.state_code not in ('completed', 'skipped', 'cancelled', 'cannot_complete') then 'slot_key' end
    ], null) as names
    from known as u
    left join stepwell.workflow_step_def as d on u.tenant_id = d.tenant_id and u.run_version_id = d.version_id
        and u.step_no = d.step_no and (u.is_outside or d.scope_no <> 0)
    left join lateral (select count(*) as size from stepwell.workflow_step_def as x
        where x.tenant_id = u.tenant_id and x.version_id = u.run_version_id and x.scope_no = d.scope_no) as z on u.item_no is not null
    left join stepwell.work_unit as m on u.tenant_id = m.tenant_id and u.parent_id = m.unit_id
    left join stepwell.operation as q on u.is_job and u.tenant_id = q.tenant_id and u.operation_id = q.operation_id
    left join lateral (select x.event_id, x.audit_ref, x.payload from stepwell.event_log as x where x.tenant_id = u.tenant_id
        and x.run_id = u.unit_id >> 20 and x.unit_id = u.unit_id and x.event_type in ('job.enqueued', 'job.described')
        order by x.event_id desc limit 1) as e on u.is_job
), ended as (
    select r.run_id << 20, array_remove(array[
        -- All changes of a run of an archived month may be gone from the log.
        case when r.finished_state is distinct from f.to_state and (l.to_state is not null or not coalesce(to_char(r.created_at at time zone 'UTC', 'YYYY-MM') = any (%(archived)s), false))
            then 'run_detail.finished_state' end,
        case when r.finished_at is distinct from f.at and (l.to_state is not null or not coalesce(to_char(r.created_at at time zone 'UTC', 'YYYY-MM') = any (%(archived)s), false))
            then 'run_detail.finished_at' end,
        -- Items of Maps and tasks are numbered without a gap.
        case when r.next_unit_no is distinct from greatest(v.step_count + 1, n.next_no)
            or r.next_unit_no - 1 - v.step_count is distinct from n.later_count then 'run_detail.next_unit_no' end,
        case when r.origin is distinct from o.authors and not coalesce(to_char(r.created_at at time zone 'UTC', 'YYYY-MM') = any (%(archived)s), false) then 'run_detail.origin' end
    ], null)
    from stepwell.run_detail as r
    inner join stepwell.workflow_version as v on r.tenant_id = v.tenant_id and r.version_id = v.version_id
    left join lateral (select max(x.unit_id & 1048575)::int + 1 as next_no,
            count(*) filter (where x.unit_id & 1048575 > v.step_count) as later_count from stepwell.work_unit as x
        where x.tenant_id = r.tenant_id and x.unit_id between r.run_id << 20 and (r.run_id << 20) + 1048575) as n on true
    left join lateral (select x.to_state, x.at from stepwell.event_log as x
        where x.tenant_id = r.tenant_id and x.run_id = r.run_id and x.unit_id = r.run_id << 20 and x.to_state is not null
        order by x.event_id desc limit 1) as l on true
    left join lateral (select l.to_state, l.at where l.to_state in ('completed', 'failed', 'cancelled')) as f on true
    left join lateral (select array(select jsonb_array_elements_text(x.payload -> 'authors')) as authors
        from stepwell.event_log as x
        where x.tenant_id = r.tenant_id and x.run_id = r.run_id and x.event_type = 'schedule.fired' limit 1) as o on true
    where r.tenant_id = %(tenant_id)s
)
select c.unit_id, c.names
from (
    select * from compared
    union all
    select * from ended
    union all
    select w.unit_id, array['unit_id'] from stepwell.work_unit as w
    where w.tenant_id = %(tenant_id)s group by w.unit_id having count(*) > 1
) as c (unit_id, names)
where c.names <> '{}'
order by c.unit_id
limit %(limit)s
