-- Purpose: a Slack account is nobody's from now on.
-- Locks: the account's row.
-- Idempotency: an account that is nobody's stays so, and the answer says so.
-- Raises: SW007 for another tenant.
create or replace function stepwell.fn_slack_user_unmap(p_tenant_id int, p_slack_user_id text) returns boolean
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._tenant_bound(p_tenant_id);
    delete from stepwell.slack_user as s where s.tenant_id = p_tenant_id and s.slack_user_id = p_slack_user_id;
    return found;
end
$$;
