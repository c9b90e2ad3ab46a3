-- Which tenant a database session may act for: the setting stepwell.tenant_id binds it to one.

-- Refuses to act for another tenant than the session is bound to. Functions that change something run as their owner,
-- so row level security does not hold in them; they call this first. A session without the setting belongs to the
-- operator and may act for every tenant.
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
