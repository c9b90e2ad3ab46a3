-- Who may act for a tenant. A session may be bound to one tenant by the setting stepwell.tenant_id.

-- A session bound to a tenant (setting stepwell.tenant_id) acts for no other. Functions that change something run as their
-- owner, past row level security; so they ask here first. Unbound sessions are the operator's own.
-- Raises: SW007 when the session is bound to another tenant.
create or replace function stepwell._tenant_bound(p_tenant_id int) returns void
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_bound constant text := nullif(current_setting('stepwell.tenant_id', true), '');
begin
    if v_bound is distinct from p_tenant_id::text and v_bound is not null then
        raise exception using errcode = 'SW007',
            message = format('this session is bound to tenant %s and cannot act for tenant %s', v_bound, p_tenant_id);
    end if;
end
$$;
