-- Purpose: the guards that are named predicates. Built-in ones are here; others are functions
--   `guard_<name>(unit work_unit, evidence jsonb) returns boolean` listed in guard_predicate.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing; an unknown guard, a null or an error of a predicate does not hold.
create or replace function stepwell._guard_named(
    p_guard text, p_unit stepwell.work_unit, p_evidence jsonb, p_actor text, p_now timestamptz
) returns boolean
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_holds boolean;
begin
    case p_guard
        when 'pic_assigned' then
            v_holds := p_unit.pic_id is not null;
        when 'actor_is_pic' then
            v_holds := p_unit.pic_id = (p_evidence ->> 'actor_id')::bigint;
        when 'actor_oversees', 'actor_is_responsible', 'actor_takes_part' then
            v_holds := stepwell._step_overseer(p_unit, (p_evidence ->> 'actor_id')::bigint)
                or (p_guard <> 'actor_oversees' and p_unit.pic_id = (p_evidence ->> 'actor_id')::bigint)
                or (p_guard = 'actor_takes_part' and stepwell._step_candidate(p_unit, (p_evidence ->> 'actor_id')::bigint));
        when 'wait_facet_known' then
            -- The facet itself is checked by the event contract; here: the machine has it for this state.
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
            v_holds := p_unit.deadline_at < p_now;
        when 'deadline_extended' then
            v_holds := p_unit.deadline_at > p_now;
        when 'output_contract_met' then
            v_holds := not p_unit.has_contract or stepwell._guard_output_contract(p_unit, p_evidence);
        when 'retry_exhausted_or_permanent' then
            v_holds := p_unit.attempt_count >= p_unit.max_attempts or exists (
                select from stepwell.failure_class_registry as f
                where f.failure_class = p_unit.failure_class and f.classification = 'permanent')
                or p_evidence ->> 'classification' = 'permanent';
        when 'declaration_evidence' then
            v_holds := p_evidence ->> 'declaration_ref' is not null;
        when 'lease_expired' then
            v_holds := not exists (select from stepwell.worker_session as s
                where s.session_id = p_unit.lease_session_id and s.closed_at is null and s.expires_at >= p_now);
        when 'all_steps_finished' then
            v_holds := exists (select from stepwell.run_progress as r
                where r.tenant_id = p_unit.tenant_id and r.run_id = p_unit.unit_id >> 20
                    and r.open_count = 0 and r.failed_count = 0);
        when 'run_cannot_finish' then
            v_holds := exists (select from stepwell.run_progress as r
                where r.tenant_id = p_unit.tenant_id and r.run_id = p_unit.unit_id >> 20
                    and r.open_count = 0 and r.failed_count > 0);
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
