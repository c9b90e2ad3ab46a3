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
