-- Work of people, open or ended: human steps, the tasks inside them, and steps of workers that a person corrects.
create or replace view stepwell.v_human_step with (security_invoker = true) as
select
    u.tenant_id,
    u.unit_id as step_run_id,
    u.unit_id >> 20 as run_id,
    w.workflow_name as workflow,
    u.scope,
    case when u.scope = 'task' then u.parent_id end as parent_step_run_id,
    coalesce(t.task_id, d.step_id) as step_id,
    coalesce(t.title, d.config ->> 'title') as title,
    u.state_code,
    u.waiting_facet,
    array_remove(u.waiting_facets, u.waiting_facet) as secondary_facets,
    coalesce(t.role, d.config ->> 'role') as role,
    coalesce(t.assignee, d.config ->> 'assignee') as assignee,
    p.person_name as pic,
    u.priority,
    u.deadline_at,
    u.overdue_first_at,
    u.completed_after_deadline,
    u.sla_breach_duration,
    u.completed_at is null and u.deadline_at < stepwell.now() as is_late,
    case when u.state_code = 'blocked' then b.block_reason end as block_reason,
    case when u.state_code = 'blocked' then b.detail end as block_detail,
    case when u.state_code = 'blocked' then stepwell.fn_step_blocked_severity(u.unit_id, u.tenant_id) end as blocked_severity,
    coalesce(t.form, d.config -> 'form') as form,
    u.started_at,
    u.completed_at,
    u.last_transition_at,
    e.level as escalation_level,
    e.tell as escalated_to,
    e.told_at as escalated_at,
    case when u.state_code = 'blocked' then (select c.config_value from stepwell.dot_config as c
        where c.config_key = 'vocab.block_reason.' || b.block_reason) end as block_label,
    stepwell.now() as now_at,
    case when u.scope = 'task' then (select x.step_id from stepwell.work_unit as s
        inner join stepwell.workflow_step_def as x
            on s.tenant_id = x.tenant_id and s.version_id = x.version_id and s.def_no = x.step_no
        where s.tenant_id = u.tenant_id and s.unit_id = u.parent_id) end as parent_step_id,
    u.item_no
from stepwell.work_unit as u
left join stepwell.workflow_step_def as d
    on u.scope = 'step' and u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
left join stepwell.task_detail as t on u.scope = 'task' and u.tenant_id = t.tenant_id and u.unit_id = t.unit_id
inner join stepwell.run_detail as r on u.tenant_id = r.tenant_id and u.unit_id >> 20 = r.run_id
inner join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
left join stepwell.person as p on u.tenant_id = p.tenant_id and u.pic_id = p.person_id
left join stepwell.step_block as b on u.tenant_id = b.tenant_id and u.unit_id = b.unit_id
left join lateral (
    select x.level, x.tell, x.told_at from stepwell.step_escalation as x
    where x.tenant_id = u.tenant_id and x.unit_id = u.unit_id and x.told_at is not null
    order by x.level desc limit 1
) as e on true
where (u.scope = 'step' and (d.step_kind = 'human' or u.pic_id is not null)) or (u.scope = 'task' and u.class_id is null);
