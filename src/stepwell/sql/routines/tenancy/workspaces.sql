-- Workspaces: parts of a tenant that take turns in the queue, with caps of their own.

-- Creates a workspace, or changes its caps. A setting that is given is set, null removes a cap, a setting that is not given
-- stays. A cap on concurrency applies to runs that start from now on. Returns the id of the workspace.
-- Locks: the workspace's row, then the row of its concurrency key.
-- Idempotency: the same settings change nothing.
-- Raises: SW001 naming a setting that is unknown or out of range; SW007 for another tenant.
create or replace function stepwell.fn_workspace_set(p_tenant_id int, p_workspace text, p_settings jsonb default '{}') returns int
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_found stepwell.workspace;
begin
    perform stepwell._verb_check(p_tenant_id, 'workflow.publish');
    if p_workspace is null or p_workspace !~ '^[a-z0-9][a-z0-9_-]{0,62}$' then
        raise exception using errcode = 'SW001', column = 'workspace',
            message = 'workspace: 1 to 63 lowercase letters, digits, - and _ are accepted, beginning with a letter or digit';
    end if;
    perform stepwell._caps_check(p_settings, array['max_concurrency', 'max_runs_per_min', 'max_writes_per_run']);
    insert into stepwell.workspace (tenant_id, workspace_name) values (p_tenant_id, p_workspace)
    on conflict (tenant_id, workspace_name) do nothing;
    update stepwell.workspace as w set
        max_concurrency = case when p_settings ? 'max_concurrency'
            then (p_settings ->> 'max_concurrency')::int else w.max_concurrency end,
        max_runs_per_min = case when p_settings ? 'max_runs_per_min'
            then (p_settings ->> 'max_runs_per_min')::int else w.max_runs_per_min end,
        max_writes_per_run = case when p_settings ? 'max_writes_per_run'
            then (p_settings ->> 'max_writes_per_run')::int else w.max_writes_per_run end
    where w.tenant_id = p_tenant_id and w.workspace_name = p_workspace
    returning w.* into v_found;
    perform stepwell._slots_lock(array[p_tenant_id], array['workspace:' || v_found.workspace_id]);
    update stepwell.concurrency_slot as s set max_count = coalesce(v_found.max_concurrency, 2147483647)
    where s.tenant_id = p_tenant_id and s.slot_key = 'workspace:' || v_found.workspace_id;
    if found then
        perform stepwell._slots_fill(array[p_tenant_id], array['workspace:' || v_found.workspace_id], null);
    end if;
    return v_found.workspace_id;
end
$$;

-- The id of a workspace.
-- Raises: SW002 when there is no such workspace.
create or replace function stepwell._workspace_find(p_tenant_id int, p_workspace text) returns int
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_workspace_id int;
begin
    select w.workspace_id into v_workspace_id from stepwell.workspace as w
    where w.tenant_id = p_tenant_id and w.workspace_name = p_workspace;
    if not found then
        raise exception using errcode = 'SW002', column = 'workspace', message = format('workspace %s does not exist', p_workspace),
            hint = coalesce((select 'known are ' || string_agg(w.workspace_name, ', ' order by w.workspace_name)
                from stepwell.workspace as w where w.tenant_id = p_tenant_id having count(*) between 1 and 20), '');
    end if;
    return v_workspace_id;
end
$$;

-- The concurrency key of a workspace with a cap, else null.
-- Locks: the row of the key, when its limit has changed.
create or replace function stepwell._workspace_slot(p_tenant_id int, p_workspace_id int) returns text
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_max_concurrency int;
begin
    select w.max_concurrency into v_max_concurrency from stepwell.workspace as w
    where w.tenant_id = p_tenant_id and w.workspace_id = p_workspace_id;
    if v_max_concurrency is null then
        return null;
    end if;
    insert into stepwell.concurrency_slot as s (tenant_id, slot_key, max_count)
    values (p_tenant_id, 'workspace:' || p_workspace_id, v_max_concurrency)
    on conflict (tenant_id, slot_key) do update set max_count = excluded.max_count where s.max_count <> excluded.max_count;
    return 'workspace:' || p_workspace_id;
end
$$;

-- Enforces the cap on runs of a workspace that start within a minute, before the new ones are counted in it.
-- Locks: an advisory lock of the tenant's starts, when there is a cap.
-- Raises: SW006 saying when the next start is possible.
create or replace function stepwell._workspace_rate_check(p_tenant_id int, p_workspace_id int, p_new_count int, p_now timestamptz) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_cap stepwell.workspace;
    v_free_at timestamptz;
begin
    select w.* into v_cap from stepwell.workspace as w where w.tenant_id = p_tenant_id and w.workspace_id = p_workspace_id;
    if v_cap.max_runs_per_min is null then
        return;
    end if;
    perform pg_advisory_xact_lock(hashtext('stepwell.start'), p_tenant_id);
    select r.created_at + interval '1 minute' into v_free_at
    from stepwell.run_progress as p
    inner join stepwell.run_detail as r on p.tenant_id = r.tenant_id and p.run_id = r.run_id
    where p.tenant_id = p_tenant_id and p.workspace_id = p_workspace_id and p.parent_run_id is null
    order by p.run_id desc offset greatest(v_cap.max_runs_per_min - p_new_count, 0) limit 1;
    if v_free_at > p_now or p_new_count > v_cap.max_runs_per_min then
        raise exception using errcode = 'SW006', column = 'max_runs_per_min', message = format(
            'workspace %s may start %s runs a minute; try again at %s', v_cap.workspace_name, v_cap.max_runs_per_min,
            to_char(coalesce(v_free_at, p_now + interval '1 minute') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'));
    end if;
end
$$;
