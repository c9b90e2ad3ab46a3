-- Guards: the conditions that a transition of the registry may require. A guard is a named predicate or an expression.
-- A guard that cannot be evaluated does not hold. The functions here only read.

-- Whether a named guard holds. The built-in ones that need no statement are in _transition_problems, the rest is here; others are functions `guard_<name>(unit work_unit, evidence
-- jsonb) returns boolean` that are listed in guard_predicate. An unknown guard, a null and an error of a predicate do
-- not hold.
create or replace function stepwell._guard_named(
    p_guard text, p_unit stepwell.work_unit, p_evidence jsonb, p_now timestamptz
) returns boolean
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_holds boolean;
begin
    case p_guard
        when 'pic_assigned' then
            v_holds := stepwell._pic_resolves(p_unit);
        when 'actor_is_pic' then
            v_holds := p_unit.pic_id = (p_evidence ->> 'actor_id')::bigint;
        when 'actor_oversees', 'actor_is_responsible', 'actor_takes_part' then
            v_holds := stepwell._step_overseer(p_unit, (p_evidence ->> 'actor_id')::bigint)
                or (p_guard <> 'actor_oversees' and p_unit.pic_id = (p_evidence ->> 'actor_id')::bigint)
                or (p_guard = 'actor_takes_part' and stepwell._step_candidate(p_unit, (p_evidence ->> 'actor_id')::bigint));
        when 'wait_facet_known' then
            -- The event contract checks the facet itself; here: the state machine has this facet for this state.
            v_holds := exists (select from stepwell.state_facet_def as f
                where f.state_machine_id = p_unit.state_machine_id and f.state_code = 'waiting'
                    and f.facet_code = coalesce(p_evidence ->> 'waiting_facet', 'waiting_external'));
        when 'facet_resolution_proof' then
            v_holds := p_evidence ->> 'resolution_ref' is not null;
        when 'block_reason_known' then
            v_holds := exists (select from stepwell.dot_config as c
                where c.config_key = 'vocab.block_reason.' || (p_evidence ->> 'block_reason'));
        when 'blocker_resolution_evidence' then
            v_holds := p_evidence ->> 'resolution_ref' is not null;
        when 'deadline_passed' then
            v_holds := p_unit.deadline_at <= p_now;
        when 'deadline_extended' then
            v_holds := p_unit.deadline_at > p_now;
        when 'output_contract_met' then
            v_holds := not p_unit.has_contract or stepwell._guard_output_contract(p_unit, p_evidence);
        when 'retry_exhausted_or_permanent' then
            v_holds := p_unit.attempt_count >= p_unit.max_attempts or exists (
                select from stepwell.failure_class_registry as f
                where f.failure_class = p_unit.failure_class and f.classification = 'permanent')
                or p_evidence ->> 'classification' = 'permanent';
        when 'failed_by_itself' then
            v_holds := p_unit.failure_class is distinct from 'subworkflow_red';
        when 'declaration_evidence' then
            v_holds := p_evidence ->> 'declaration_ref' is not null;
        when 'lease_expired' then
            v_holds := not exists (select from stepwell.worker_session as s
                where s.session_id = p_unit.lease_session_id and s.closed_at is null and s.expires_at >= p_now);
        when 'cancel_authorised', 'replay_approved', 'reinstatement_approved', 'reopen_approved', 'quorum_reached',
            'approval_expired', 'proposal_approved', 'first_policy' then
            v_holds := stepwell._guard_approval(p_guard, p_unit, p_evidence, p_now);
        else
            if exists (select from stepwell.guard_predicate as g where g.predicate_name = p_guard and not g.is_builtin)
            then
                execute format('select stepwell.%I($1, $2)', 'guard_' || p_guard) into v_holds using p_unit, p_evidence;
            end if;
    end case;
    return coalesce(v_holds, false);
exception when others then
    return false;
end
$$;

-- Whether a step or task has a person in charge who is active: the guard pic_assigned, by its name in the source document.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing; false when there is no such step.
create or replace function stepwell.fn_step_pic_resolves(p_step_run_id bigint, p_tenant_id int default 1) returns boolean
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce((select stepwell._pic_resolves(u) from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id = p_step_run_id and u.scope in ('step', 'task')), false)
$$;

-- Whether the person in charge of a unit is known and active.
create or replace function stepwell._pic_resolves(p_unit stepwell.work_unit) returns boolean
language sql stable
set search_path = stepwell, pg_temp
as $$
    select p_unit.pic_id is not null and not exists (select from stepwell.person as p
        where p.tenant_id = p_unit.tenant_id and p.person_id = p_unit.pic_id and not p.is_active)
$$;

-- Whether a guard that is written as an SQL/JSON path over {input, steps, unit, evidence} holds. It is read strictly: a path
-- that cannot be evaluated, reads what is missing or gives no boolean does not hold.
create or replace function stepwell._guard_expression(p_path text, p_unit stepwell.work_unit, p_evidence jsonb)
returns boolean
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce(e.result::boolean, false)
    from stepwell._path_evaluate(stepwell._path_document(coalesce(stepwell._unit_document(p_unit.tenant_id, p_unit.unit_id), '{}')
        || jsonb_build_object('evidence', coalesce(p_evidence, '{}'), 'unit', to_jsonb(p_unit)), p_path),
        stepwell._path_strict(p_path), true, true) as e
$$;

-- Whether a guard that requires an approval holds: is the approval granted, has it expired, have enough reviewers
-- agreed. Null does not hold.
create or replace function stepwell._guard_approval(
    p_guard text, p_unit stepwell.work_unit, p_evidence jsonb, p_now timestamptz
) returns boolean
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_holds boolean;
begin
    case p_guard
        when 'cancel_authorised' then
            v_holds := stepwell._approval_covers(p_unit, p_evidence, 'workflow_cancel');
        when 'replay_approved' then
            v_holds := p_evidence ->> 'replay_request_id' is not null
                and p_evidence ->> 'approval_id' is not null
                and stepwell._approval_covers(p_unit, p_evidence, 'replay', true);
        when 'quorum_reached' then
            v_holds := stepwell._approval_quorum(p_unit.tenant_id, p_unit.unit_id);
        when 'approval_expired' then
            v_holds := p_unit.deadline_at <= p_now;
        when 'reinstatement_approved' then
            v_holds := p_evidence ->> 'approval_id' is not null and (
                (p_evidence ->> 'replay_request_id' is not null
                    and stepwell._approval_covers(p_unit, p_evidence, 'replay'))
                or (p_evidence ->> 'prior_audit_id' is not null
                    and stepwell._approval_covers(p_unit, p_evidence, 'reopen')));
        when 'proposal_approved' then
            v_holds := stepwell._approval_granted(p_unit.tenant_id, (p_evidence ->> 'approval_id')::bigint, coalesce((
                select a.action from stepwell.dlq_replay_plan as p
                inner join stepwell.approval_detail as a on p.tenant_id = a.tenant_id and p.approval_id = a.approval_id
                where p.tenant_id = p_unit.tenant_id and p.plan_id = p_unit.unit_id), 'proposal'), p_unit.unit_id)
                -- Its own approval, not another one about it.
                and (p_evidence ->> 'approval_id')::bigint = coalesce(
                    (select p.approval_id from stepwell.dlq_replay_plan as p
                        where p.tenant_id = p_unit.tenant_id and p.plan_id = p_unit.unit_id),
                    (select s.approval_id from stepwell.policy_set as s
                        where s.tenant_id = p_unit.tenant_id and s.proposal_id = p_unit.unit_id),
                    (p_evidence ->> 'approval_id')::bigint);
        when 'first_policy' then
            v_holds := not exists (select from stepwell.policy_active as a where a.tenant_id = p_unit.tenant_id);
        when 'reopen_approved' then
            v_holds := p_evidence ->> 'approval_id' is not null
                and stepwell._approval_covers(p_unit, p_evidence, 'reopen', true)
                and (p_unit.scope = 'workflow_run' or (p_evidence ->> 'prior_audit_id' is not null
                    and exists (select from stepwell.dot_config as c
                        where c.config_key = 'vocab.correction_reason.' || (p_evidence ->> 'correction_reason'))));
    end case;
    return v_holds;
end
$$;

-- Whether an action on a unit may go ahead as far as approvals are concerned: none is required (_approval_waiver), or the
-- approval named in the evidence is granted for this action on this unit, and what else the evidence names exists and belongs
-- to it. An approval of a replay or a cancel covers its own run; that of a correction also the runs around it. p_is_own: the
-- request or the record must be of this very unit, or of a step of this run.
create or replace function stepwell._approval_covers(
    p_unit stepwell.work_unit, p_evidence jsonb, p_action text, p_is_own boolean default false
) returns boolean
language sql stable
set search_path = stepwell, pg_temp
as $$
    select stepwell._approval_waiver(p_action) is not null
        or exists (
            select from stepwell.approval_detail as d
            inner join stepwell.work_unit as a on d.tenant_id = a.tenant_id and d.approval_id = a.unit_id
            where d.tenant_id = p_unit.tenant_id and d.approval_id = (p_evidence ->> 'approval_id')::bigint
                and (d.action = p_action or (p_action = 'replay' and d.action = 'replay_plan')) and a.scope = 'approval'
                and a.state_code = 'approved' and case p_action
                    -- The requests say which runs it is about: an approval of a plan is about many.
                    when 'replay' then exists (
                        select from stepwell.dlq_replay_request as r
                        where r.tenant_id = d.tenant_id and r.approval_id = d.approval_id
                            and stepwell._run_of(r.unit_id) = stepwell._run_of(p_unit.unit_id)
                            and r.replay_request_id = (p_evidence ->> 'replay_request_id')::bigint
                            and (not p_is_own or p_unit.scope = 'workflow_run' or r.unit_id = p_unit.unit_id))
                    when 'reopen' then exists (
                        select from stepwell._runs_above(d.tenant_id, stepwell._run_of(d.subject_unit_id)) as o
                        where o.run_id = stepwell._run_of(p_unit.unit_id)) and (p_unit.scope = 'workflow_run' or exists (
                            select from stepwell.step_run_correction_cycle as k
                            where k.tenant_id = d.tenant_id and k.approval_id = d.approval_id
                                and k.prior_audit_id = (p_evidence ->> 'prior_audit_id')::bigint
                                and (not p_is_own or k.unit_id = p_unit.unit_id)))
                    -- What was asked about a run covers its steps; what was asked about a step covers this step.
                    else d.subject_unit_id in (p_unit.unit_id, stepwell._run_unit(stepwell._run_of(p_unit.unit_id)))
                        and d.expires_at > stepwell.now() end)
$$;

-- Whether this approval is granted, for this action and for this unit or its run, and its time has not ended.
create or replace function stepwell._approval_granted(
    p_tenant_id int, p_approval_id bigint, p_action text, p_unit_id bigint
) returns boolean
language sql stable
set search_path = stepwell, pg_temp
as $$
    select exists (
        select from stepwell.approval_detail as a
        inner join stepwell.work_unit as u on a.tenant_id = u.tenant_id and a.approval_id = u.unit_id
        where a.tenant_id = p_tenant_id and a.approval_id = p_approval_id and a.action = p_action
            and a.subject_unit_id in (p_unit_id, stepwell._run_unit(stepwell._run_of(p_unit_id))) and u.state_code = 'approved'
            and a.expires_at > stepwell.now())
$$;

-- Whether enough people who may decide have agreed, or the configuration requires none. Who lost the role or was made
-- inactive after the vote does not count.
create or replace function stepwell._approval_quorum(p_tenant_id int, p_approval_id bigint) returns boolean
language sql stable
set search_path = stepwell, pg_temp
as $$
    select stepwell._approval_waiver(a.action) is not null
        or (select count(distinct stepwell._actor_plain(v.voter)) from stepwell.approval_vote as v
            where v.tenant_id = a.tenant_id and v.approval_id = a.approval_id and v.decision = 'approve'
                and stepwell._actor_plain(v.voter) <> all (b.names)
                and stepwell._approval_eligible(a, stepwell._actor_plain(v.voter))) >= a.quorum
    from stepwell.approval_detail as a
    cross join lateral (select stepwell._approval_barred(a)) as b (names)
    where a.tenant_id = p_tenant_id and a.approval_id = p_approval_id
$$;

-- Who never decides an approval, as names are compared: the requester, the actor, the names behind its subject, and whoever
-- acts through an agent or a service among them.
create or replace function stepwell._approval_barred(p_approval stepwell.approval_detail) returns text[]
language sql stable
set search_path = stepwell, pg_temp
as $$
    select array(select stepwell._actor_plain(n.name)
        from unnest(stepwell._people_of(p_approval.tenant_id, array[p_approval.requested_by, p_approval.acting]
            || stepwell._people_behind(p_approval.tenant_id, p_approval.subject_unit_id))) as n (name))
$$;

-- Whether a person, by the key of the name, is active and among those whom an approval asks: a named approver, somebody
-- with the role, or everybody where it names neither.
create or replace function stepwell._approval_eligible(p_approval stepwell.approval_detail, p_name_key text) returns boolean
language sql stable
set search_path = stepwell, pg_temp
as $$
    select exists (
        select from stepwell.person as p
        where p.tenant_id = p_approval.tenant_id and p.name_key = p_name_key and p.is_active and (
            (p_approval.approvers is null and p_approval.approver_role is null)
            or exists (select from unnest(p_approval.approvers) as a (name) where stepwell._name_fold(a.name) = p_name_key)
            or exists (select from stepwell.person_role as r where r.tenant_id = p.tenant_id
                and r.person_id = p.person_id and r.role_name = p_approval.approver_role)))
$$;

-- Whether a person may take a unit: the person is named for it, or has the role that it requires; every person when it
-- requires none.
create or replace function stepwell._step_candidate(p_unit stepwell.work_unit, p_person_id bigint) returns boolean
language sql stable
set search_path = stepwell, pg_temp
as $$
    select p_unit.pic_id is not distinct from p_person_id or exists (
        select from stepwell._step_asks(p_unit) as a
        where (a.role is null and a.assignee is null)
            or stepwell._name_fold(a.assignee) = (select p.name_key from stepwell.person as p
                where p.tenant_id = p_unit.tenant_id and p.person_id = p_person_id)
            or exists (select from stepwell.person_role as r
                where r.tenant_id = p_unit.tenant_id and r.person_id = p_person_id and r.role_name = a.role))
$$;

-- Whether a person may oversee a unit without being in charge of it: the person has a role of people.overseer_roles,
-- was notified by the escalation chain of the unit, or is in charge of the step around a task.
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
            e.tell in (select n.called from name as n) or stepwell._name_fold(e.tell) = stepwell._name_fold(stepwell._person_name(p_unit.tenant_id, p_person_id))))
        or (p_unit.scope = 'task' and exists (
        select from stepwell.work_unit as s
        where s.tenant_id = p_unit.tenant_id and s.unit_id = p_unit.parent_id and s.pic_id = p_person_id))
$$;

-- What a human step or a task requires: who may take it, its form, its deadline, whom to notify. No row for a unit that
-- people do not carry out.
create or replace function stepwell._step_asks(p_unit stepwell.work_unit)
returns table (step_kind text, role text, assignee text, form jsonb, config jsonb, name text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select d.step_kind, d.config ->> 'role', d.config ->> 'assignee', d.config -> 'form', d.config, d.step_id
    from stepwell.workflow_step_def as d
    where p_unit.scope = 'step' and d.tenant_id = p_unit.tenant_id and d.version_id = p_unit.version_id
        and d.step_no = p_unit.def_no
    union all
    select 'task', t.role, t.assignee, t.form, '{}', t.task_id
    from stepwell.task_detail as t
    where p_unit.scope = 'task' and t.tenant_id = p_unit.tenant_id and t.unit_id = p_unit.unit_id
$$;

-- Whether the output of a unit fulfils its contract.
create or replace function stepwell._guard_output_contract(p_unit stepwell.work_unit, p_evidence jsonb)
returns boolean
language sql stable
set search_path = stepwell, pg_temp
as $$
    select stepwell._output_contract_problem(p_unit, p_evidence -> 'output') is null
$$;
