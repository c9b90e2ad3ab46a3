-- Purpose: may this person decide this approval? Not who asked and not who acts; where approvers or a role are named,
--   only they.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW007 when not.
create or replace function stepwell._approval_voter_check(p_approval stepwell.approval_detail, p_voter text) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
begin
    if coalesce(p_voter, '') = '' then
        raise exception using errcode = 'SW007', message = 'an approval is decided by somebody with a name';
    end if;
    if p_voter = stepwell._actor_plain(p_approval.requested_by) then
        raise exception using errcode = 'SW007', message = 'who asks for an approval cannot decide it';
    end if;
    if p_voter = stepwell._actor_plain(p_approval.acting) then
        raise exception using errcode = 'SW007', message = 'who acts under an approval cannot decide it';
    end if;
    if p_approval.approvers is null and p_approval.approver_role is null then
        return;
    end if;
    if p_voter = any (p_approval.approvers) then
        return;
    end if;
    if exists (select from stepwell.person as p
        inner join stepwell.person_role as r on p.tenant_id = r.tenant_id and p.person_id = r.person_id
        where p.tenant_id = p_approval.tenant_id and p.person_name = p_voter and p.is_active
            and r.role_name = p_approval.approver_role) then
        return;
    end if;
    raise exception using errcode = 'SW007', message = format('approval %s is decided by %s', p_approval.approval_id,
        concat_ws(' or ', nullif(array_to_string(p_approval.approvers, ', '), ''), 'the role ' || p_approval.approver_role));
end
$$;
