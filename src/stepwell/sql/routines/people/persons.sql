-- People and their inbox.

-- The id of an active person, by name, however it is written and whatever channel is named with it.
-- Raises: SW002 when there is no such person, or the person is not active any more.
create or replace function stepwell._person_find(p_tenant_id int, p_person_name text) returns bigint
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_person_id bigint;
begin
    select p.person_id into v_person_id
    from stepwell.person as p
    where p.tenant_id = p_tenant_id and p.name_key = stepwell._actor_plain(p_person_name) and p.is_active;
    if not found then
        raise exception using errcode = 'SW002', column = 'actor',
            hint = stepwell._person_hint(p_tenant_id, p_person_name),
            message = format('person %s does not exist', coalesce(p_person_name, '(none)'));
    end if;
    return v_person_id;
end
$$;

-- Every step and task, with what people ask about it: whose it is, until when, what holds it up, how far it is.
create or replace view stepwell.v_step_card with (security_invoker = true) as
select
    u.tenant_id,
    u.unit_id as step_run_id,
    stepwell._run_of(u.unit_id) as run_id,
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
    not stepwell._has_ended(u.state_code) and u.deadline_at <= stepwell.now() as is_late,
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
    u.item_no,
    (
        select i.inputs from stepwell.v_step_payload as i
        where i.tenant_id = u.tenant_id and i.unit_id = case when u.scope = 'task' then u.parent_id else u.unit_id end
        order by i.binding_no desc limit 1
    ) as inputs,
    (
        select p.progress from stepwell.v_unit_progress as p
        where p.tenant_id = u.tenant_id and p.unit_id = u.unit_id
    ) as progress,
    case when u.scope = 'task' then 'task' else d.step_kind end as step_kind,
    case when u.scope = 'task' then u.executor_class_id is null else d.step_kind = 'human' or u.pic_id is not null end
        as is_for_people
from stepwell.work_unit as u
left join stepwell.workflow_step_def as d
    on u.scope = 'step' and u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
left join stepwell.task_detail as t on u.scope = 'task' and u.tenant_id = t.tenant_id and u.unit_id = t.unit_id
-- Under row level security a join would read every run of the tenant.
cross join lateral (
    select x.tenant_id, x.workflow_id from stepwell.run_detail as x
    where x.tenant_id = u.tenant_id and x.run_id = stepwell._run_of(u.unit_id) offset 0
) as r
inner join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
left join stepwell.person as p on u.tenant_id = p.tenant_id and u.pic_id = p.person_id
left join stepwell.step_block as b on u.tenant_id = b.tenant_id and u.unit_id = b.unit_id
left join lateral (
    select x.level, x.tell, x.told_at from stepwell.step_escalation as x
    where x.tenant_id = u.tenant_id and x.unit_id = u.unit_id and x.told_at is not null
    order by x.level desc limit 1
) as e on true
where u.scope in ('step', 'task');

-- Work of people, open or ended: human steps, the tasks inside them, and operations that a person corrects.
create or replace view stepwell.v_human_step with (security_invoker = true) as
select c.*
from stepwell.v_step_card as c
where c.is_for_people;

-- The open work of people, and what their roles may take; the most urgent first when ordered by priority and deadline.
create or replace view stepwell.v_inbox with (security_invoker = true) as
select h.*
from stepwell.v_human_step as h
where h.state_code in ('ready', 'in_progress', 'waiting', 'blocked', 'overdue');

-- The inbox of a person: work that the person is in charge of, ready work for one of the person's roles without anybody
-- in charge, and work about which the person was notified. Without a person, everybody's.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when there is no such person.
create or replace function stepwell.fn_inbox_read(
    p_tenant_id int, p_person text default null, p_role text default null, p_limit int default 100
) returns setof stepwell.v_inbox
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_person_id constant bigint := case when p_person is not null then stepwell._person_find(p_tenant_id, p_person) end;
    v_name constant text := stepwell._person_name(p_tenant_id, v_person_id);
    v_key constant text := stepwell._name_fold(v_name);
    v_roles constant text[] := array(select r.role_name from stepwell.person_role as r
        where r.tenant_id = p_tenant_id and r.person_id = v_person_id);
begin
    return query
    select i.*
    from stepwell.v_inbox as i
    where i.tenant_id = p_tenant_id
        and (p_role is null or i.role = p_role)
        and (p_person is null or i.pic = v_name
            or (i.pic is null and (stepwell._name_fold(i.assignee) = v_key or i.role = any (v_roles) or (i.role is null and i.assignee is null)))
            or exists (select from stepwell.step_escalation as e
                where e.tenant_id = p_tenant_id and e.unit_id = i.step_run_id and e.told_at is not null
                    and (stepwell._name_fold(e.tell) = v_key or e.tell = any (v_roles))))
    order by i.priority desc, i.deadline_at nulls last, i.step_run_id
    limit least(greatest(p_limit, 1), stepwell._limit('limits.page_size'));
end
$$;
