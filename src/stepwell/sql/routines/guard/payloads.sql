-- Payloads that somebody sees without the right to read all: what the person works on, and what the person decides about.

-- Whether the bound principal works on a step: is in charge of it or of a task in it, or may claim one of these. A task that a worker
-- performs names no role, and nobody claims it.
create or replace function stepwell._step_is_own(p_tenant_id int, p_unit_id bigint) returns boolean
language sql stable security definer
set search_path = stepwell, pg_temp
as $$
    select stepwell.bound_tenant() = p_tenant_id and stepwell._verb_allowed('step.work') and exists (
        select from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id between p_unit_id and stepwell._run_last(stepwell._run_of(p_unit_id))
            and (u.unit_id = p_unit_id or (u.scope = 'task' and u.parent_id = p_unit_id))
            and case when u.pic_id is null then u.executor_class_id is null and stepwell._step_candidate(u, stepwell.bound_principal())
                else u.pic_id = stepwell.bound_principal() end)
$$;

-- Whether an approval asks the bound principal.
create or replace function stepwell._approval_is_asked(p_tenant_id int, p_approval_id bigint) returns boolean
language sql stable security definer
set search_path = stepwell, pg_temp
as $$
    select stepwell.bound_tenant() = p_tenant_id and stepwell._verb_allowed('approval.decide') and exists (
        select from stepwell.approval_detail as a
        inner join stepwell.principal as p on p.tenant_id = a.tenant_id and p.principal_id = stepwell.bound_principal()
        where a.tenant_id = p_tenant_id and a.approval_id = p_approval_id and stepwell._approval_eligible(a, p.name_key))
$$;

-- What people are shown with their steps, as often as it was bound.
create or replace view stepwell.v_step_payload with (security_barrier = true) as
select i.tenant_id, i.unit_id, i.binding_no, i.inputs
from stepwell.step_input as i
where ((select stepwell.payload_tenant()) in (0, i.tenant_id) or stepwell._step_is_own(i.tenant_id, i.unit_id))
    and ((select stepwell.sees_all_steps()) or stepwell.unit_is_shown(i.tenant_id, i.unit_id, (select stepwell.hidden_steps())));

-- What approvals show.
create or replace view stepwell.v_approval_payload with (security_barrier = true) as
select a.tenant_id, a.approval_id, a.about
from stepwell.approval_detail as a
where ((select stepwell.payload_tenant()) in (0, a.tenant_id) or stepwell._approval_is_asked(a.tenant_id, a.approval_id))
    and ((select stepwell.sees_all_steps()) or stepwell.unit_is_shown(a.tenant_id, a.approval_id, (select stepwell.hidden_steps())));
