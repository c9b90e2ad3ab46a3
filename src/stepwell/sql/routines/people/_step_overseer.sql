-- Purpose: does this person look after the unit without being in charge of it? Who has a role of people.overseer_roles, was
--   told of the unit by its escalation chain, or is in charge of the step around a task.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._step_overseer(p_unit stepwell.work_unit, p_person_id bigint) returns boolean
language sql stable
set search_path = stepwell, pg_temp
as $$
    with name as (
        select r.role_name as called from stepwell.person_role as r
        where r.tenant_id = p_unit.tenant_id and r.person_id = p_person_id
    )
    select exists (
        select from name as n
        inner join stepwell.dot_config as c on c.config_key = 'people.overseer_roles' and c.config_value ? n.called)
        or exists (
        select from stepwell.step_escalation as e
        where e.tenant_id = p_unit.tenant_id and e.unit_id = p_unit.unit_id and e.told_at is not null and (
            e.tell in (select n.called from name as n) or e.tell = stepwell._person_name(p_unit.tenant_id, p_person_id)))
        or (p_unit.scope = 'task' and exists (
        select from stepwell.work_unit as s
        where s.tenant_id = p_unit.tenant_id and s.unit_id = p_unit.parent_id and s.pic_id = p_person_id))
$$;
