-- Purpose: stores a graph as an immutable version of a workflow. The same graph gives the same version again.
-- Locks: the workflow's registry row.
-- Idempotency: by graph hash.
-- Raises: SW001 for a graph that does not hold together, naming the node and the field; SW006 over a limit;
--   SW007 for another tenant.
create or replace function stepwell.fn_workflow_publish(
    p_tenant_id int, p_graph jsonb, p_hash text, p_actor text
) returns table (version_id int, version_no int, is_new boolean)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_name constant text := p_graph ->> 'name';
    v_workflow_id int;
    v_version_id int;
    v_version_no int;
    v_problem text;
begin
    perform stepwell._tenant_bound(p_tenant_id);
    v_problem := coalesce(stepwell._graph_problem(p_graph), stepwell._graph_recursion(p_tenant_id, p_graph));
    if v_problem is not null then
        raise exception using errcode = 'SW001', message = format('workflow %s: %s', v_name, v_problem);
    end if;
    insert into stepwell.workflow_registry (tenant_id, workflow_name) values (p_tenant_id, v_name)
    on conflict (tenant_id, workflow_name) do nothing;
    select w.workflow_id into v_workflow_id
    from stepwell.workflow_registry as w
    where w.tenant_id = p_tenant_id and w.workflow_name = v_name
    for update;
    select v.version_id, v.version_no into v_version_id, v_version_no
    from stepwell.workflow_version as v
    where v.tenant_id = p_tenant_id and v.workflow_id = v_workflow_id and v.graph_hash = p_hash;
    if found then
        return query select v_version_id, v_version_no, false;
        return;
    end if;
    select coalesce(max(v.version_no), 0) + 1 into v_version_no
    from stepwell.workflow_version as v
    where v.tenant_id = p_tenant_id and v.workflow_id = v_workflow_id;
    insert into stepwell.workflow_version (
        tenant_id, workflow_id, version_no, graph_hash, graph, failure_policy, step_count, published_at, published_by)
    values (p_tenant_id, v_workflow_id, v_version_no, p_hash, p_graph,
        coalesce(p_graph ->> 'failure_policy', 'continue-running'), jsonb_array_length(p_graph -> 'nodes'),
        stepwell.now(), p_actor)
    returning workflow_version.version_id into v_version_id;
    perform stepwell._graph_store(p_tenant_id, v_version_id, p_graph);
    perform stepwell._event_append(p_tenant_id, 0, 'workflow.published', p_actor,
        jsonb_build_object('workflow', v_name, 'version', v_version_no, 'hash', p_hash));
    return query select v_version_id, v_version_no, true;
end
$$;
