-- Purpose: the guards that ask for an approval: was this granted, has it expired, have enough reviewers agreed?
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing of its own; null does not hold.
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
            v_holds := stepwell._approval_holds(p_unit.tenant_id, p_evidence, 'workflow_cancel',
                p_unit.unit_id >> 20);
        when 'replay_approved' then
            v_holds := p_evidence ->> 'replay_request_id' is not null
                and p_evidence ->> 'approval_id' is not null
                and stepwell._approval_holds(p_unit.tenant_id, p_evidence, 'replay');
        when 'quorum_reached' then
            v_holds := stepwell._approval_quorum(p_unit.tenant_id, p_unit.unit_id);
        when 'approval_expired' then
            v_holds := p_unit.deadline_at <= p_now;
        when 'reinstatement_approved' then
            v_holds := p_evidence ->> 'approval_id' is not null and (
                (p_evidence ->> 'replay_request_id' is not null
                    and stepwell._approval_holds(p_unit.tenant_id, p_evidence, 'replay'))
                or (p_evidence ->> 'prior_audit_id' is not null
                    and stepwell._approval_holds(p_unit.tenant_id, p_evidence, 'reopen')));
        when 'proposal_approved' then
            v_holds := stepwell._approval_granted(p_unit.tenant_id, (p_evidence ->> 'approval_id')::bigint, 'proposal',
                p_unit.unit_id);
        when 'first_policy' then
            v_holds := not exists (select from stepwell.policy_active as a where a.tenant_id = p_unit.tenant_id);
        when 'reopen_approved' then
            v_holds := p_evidence ->> 'approval_id' is not null
                and stepwell._approval_holds(p_unit.tenant_id, p_evidence, 'reopen')
                and (p_unit.scope = 'workflow_run' or (p_evidence ->> 'prior_audit_id' is not null
                    and exists (select from stepwell.dot_config as c
                        where c.config_key = 'vocab.correction_reason.' || (p_evidence ->> 'correction_reason'))));
    end case;
    return v_holds;
end
$$;
