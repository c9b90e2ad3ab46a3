-- Purpose: what a message about an approval ought to show, in short: its state and how many have decided.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._slack_card_face(p_tenant_id int, p_approval_id bigint) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select u.state_code || ':' || (select count(*) from stepwell.approval_vote as v
        where v.tenant_id = u.tenant_id and v.approval_id = u.unit_id)
    from stepwell.work_unit as u
    where u.tenant_id = p_tenant_id and u.unit_id = p_approval_id
$$;
