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
        max_concurrency = stepwell._cap_given(p_settings, 'max_concurrency', w.max_concurrency),
        max_runs_per_min = stepwell._cap_given(p_settings, 'max_runs_per_min', w.max_runs_per_min),
        max_writes_per_run = stepwell._cap_given(p_settings, 'max_writes_per_run', w.max_writes_per_run)
    where w.tenant_id = p_tenant_id and w.workspace_name = p_workspace
    returning w.* into v_found;
    perform stepwell._slot_bound_set(p_tenant_id, 'workspace:' || v_found.workspace_id, v_found.max_concurrency);
    return v_found.workspace_id;
end
$$;
