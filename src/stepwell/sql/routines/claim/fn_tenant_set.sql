-- Purpose: makes a tenant, or changes its weight and caps. Settings given are set, with null a cap is taken away; those not
--   given stay. Returns the tenant's number.
-- Locks: the tenant's row.
-- Idempotency: the same settings change nothing.
-- Raises: SW001 naming a setting that is unknown or out of range.
create or replace function stepwell.fn_tenant_set(p_tenant_code text, p_settings jsonb default '{}') returns int
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_before stepwell.tenant;
    v_tenant_id int;
begin
    if p_tenant_code is null or p_tenant_code !~ '^[a-z0-9][a-z0-9_-]{0,62}$' then
        raise exception using errcode = 'SW001', column = 'tenant',
            message = 'tenant: must be lowercase letters, digits, - and _, at most 63 of them';
    end if;
    perform stepwell._caps_check(p_settings, array['weight', 'max_concurrency', 'max_runs_per_min', 'max_writes_per_run']);
    insert into stepwell.tenant (tenant_code) values (p_tenant_code) on conflict (tenant_code) do nothing;
    select t.* into v_before from stepwell.tenant as t where t.tenant_code = p_tenant_code for update;
    update stepwell.tenant as t set
        weight = coalesce((p_settings ->> 'weight')::int, t.weight),
        max_concurrency = case when p_settings ? 'max_concurrency'
            then (p_settings ->> 'max_concurrency')::int else t.max_concurrency end,
        max_runs_per_min = case when p_settings ? 'max_runs_per_min'
            then (p_settings ->> 'max_runs_per_min')::int else t.max_runs_per_min end,
        max_writes_per_run = case when p_settings ? 'max_writes_per_run'
            then (p_settings ->> 'max_writes_per_run')::int else t.max_writes_per_run end
    where t.tenant_code = p_tenant_code
    returning t.tenant_id into v_tenant_id;
    if v_before.max_concurrency is null and p_settings ->> 'max_concurrency' is not null then
        -- What is in hand already counts from now on.
        insert into stepwell.tenant_lease (tenant_id, unit_id, lease_no)
        select distinct u.tenant_id, u.unit_id, u.lease_no
        from stepwell.worker_session as s
        inner join stepwell.worker_lease as l on s.session_id = l.session_id
        cross join lateral unnest(l.tenant_ids, l.unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        where s.closed_at is null and q.tenant_id = v_tenant_id and u.lease_session_id = s.session_id
        on conflict do nothing;
    end if;
    -- A higher cap may let in what no report will ask for.
    perform stepwell._workers_wake(null);
    return v_tenant_id;
end
$$;
