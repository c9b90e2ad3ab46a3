-- Purpose: have enough reviewers other than the requester and the actor agreed, or does the configuration ask for none?
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._approval_quorum(p_tenant_id int, p_approval_id bigint) returns boolean
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce((select c.config_value = 'false' from stepwell.dot_config as c
            where c.config_key = 'approval.required.' || a.action), false)
        or (select count(distinct stepwell._actor_plain(v.voter)) from stepwell.approval_vote as v
            where v.tenant_id = a.tenant_id and v.approval_id = a.approval_id and v.decision = 'approve'
                and stepwell._actor_plain(v.voter) <> stepwell._actor_plain(a.requested_by)
                and stepwell._actor_plain(v.voter) is distinct from stepwell._actor_plain(a.acting)) >= a.quorum
    from stepwell.approval_detail as a
    where a.tenant_id = p_tenant_id and a.approval_id = p_approval_id
$$;
