-- The published version that a start, a sub-workflow or a schedule asks for.

-- The published version of a workflow by name: the newest, or the one asked for.
-- Raises: SW002 naming what does not exist.
create or replace function stepwell._version_find(p_tenant_id int, p_workflow_name text, p_version_no int)
returns stepwell.workflow_version
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_version stepwell.workflow_version;
begin
    select v.* into v_version
    from stepwell.workflow_registry as w
    inner join stepwell.workflow_version as v on w.tenant_id = v.tenant_id and w.workflow_id = v.workflow_id
    where w.tenant_id = p_tenant_id and w.workflow_name = p_workflow_name
        and (p_version_no is null or v.version_no = p_version_no)
    order by v.version_no desc
    limit 1;
    if not found then
        raise exception using errcode = 'SW002', column = 'workflow', hint = coalesce(stepwell.fn_name_suggest(p_tenant_id, 'workflow', p_workflow_name), ''),
            message = format('workflow %s%s is not published', p_workflow_name, coalesce(' version ' || p_version_no, ''));
    end if;
    return v_version;
end
$$;

-- The same for a start that is no emit: a template of job graphs is only emitted.
-- Raises: SW001 for a template; SW002 as _version_find.
create or replace function stepwell._startable_find(p_tenant_id int, p_workflow_name text, p_version_no int)
returns stepwell.workflow_version
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_version constant stepwell.workflow_version := stepwell._version_find(p_tenant_id, p_workflow_name, p_version_no);
begin
    if v_version.is_template then
        raise exception using errcode = 'SW001', column = 'workflow', hint = 'emit it: fn_mot_graph_emit, stepwell graphs emit',
            message = format('workflow %s is a template of job graphs and is not started', p_workflow_name);
    end if;
    return v_version;
end
$$;
