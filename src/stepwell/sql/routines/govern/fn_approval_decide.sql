-- Purpose: a reviewer's word on an approval: one refusal ends it, enough agreement grants it, and what follows from either
--   happens in the same transaction. Neither who asked nor who acts decides; where approvers are named, only they do.
-- Locks: the run or job it is about, then the approval.
-- Idempotency: the same word of the same reviewer again changes nothing.
-- Raises: SW001 for an unknown decision, or a refusal that does not say why; SW002 when there is no such approval; SW003 when it is decided or has expired;
--   SW007 when this person may not decide, or for another tenant.
create or replace function stepwell.fn_approval_decide(
    p_tenant_id int, p_approval_id bigint, p_decision text, p_actor text, p_reason text default null
) returns text
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_voter constant text := stepwell._actor_plain(p_actor);
    v_approval stepwell.approval_detail;
begin
    perform stepwell._tenant_bound(p_tenant_id);
    if p_decision not in ('approve', 'reject') or p_decision is null then
        raise exception using errcode = 'SW001', column = 'decision', message = 'decision: must be approve or reject';
    end if;
    select a.* into v_approval from stepwell.approval_detail as a
    where a.tenant_id = p_tenant_id and a.approval_id = p_approval_id;
    if not found then
        raise exception using errcode = 'SW002', message = format('approval %s does not exist', p_approval_id);
    end if;
    perform stepwell._stream_lock(array[p_tenant_id, p_tenant_id], array[v_approval.subject_unit_id, p_approval_id]);
    select a.* into v_approval from stepwell.approval_detail as a
    where a.tenant_id = p_tenant_id and a.approval_id = p_approval_id;
    if exists (select from stepwell.approval_vote as v where v.tenant_id = p_tenant_id and v.approval_id = p_approval_id
        and v.voter = v_voter and v.decision = p_decision) then
        return (select u.state_code from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_approval_id);
    end if;
    if v_approval.decided_at is not null or v_approval.expires_at < stepwell.now() then
        raise exception using errcode = 'SW003', message = format('approval %s is decided or has expired', p_approval_id);
    end if;
    perform stepwell._approval_voter_check(v_approval, v_voter);
    if p_decision = 'reject' and coalesce(btrim(p_reason), '') = '' then
        raise exception using errcode = 'SW001', column = 'reason', message = 'reason: who rejects says why';
    end if;
    insert into stepwell.approval_vote (tenant_id, approval_id, voter, decision, reason, voted_at)
    values (p_tenant_id, p_approval_id, v_voter, p_decision, p_reason, stepwell.now())
    on conflict (tenant_id, approval_id, voter) do update set decision = excluded.decision, reason = excluded.reason,
        voted_at = excluded.voted_at;
    perform stepwell._event_append(p_tenant_id, p_approval_id, 'approval.vote_recorded', p_actor,
        jsonb_strip_nulls(jsonb_build_object('decision', p_decision, 'reason', p_reason)), 'reviewer');
    if p_decision = 'reject' then
        perform stepwell._approval_end(p_tenant_id, p_approval_id, 'rejected', p_actor, p_reason);
        perform stepwell._approval_settle(p_tenant_id, p_approval_id, p_actor);
        return 'rejected';
    end if;
    if not stepwell._approval_quorum(p_tenant_id, p_approval_id) then
        return 'requested';
    end if;
    perform stepwell._approval_end(p_tenant_id, p_approval_id, 'approved', p_actor, p_reason);
    perform stepwell._approval_settle(p_tenant_id, p_approval_id, p_actor);
    return 'approved';
end
$$;
