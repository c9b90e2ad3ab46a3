-- Purpose: writes the rows of one published graph: steps, relations, branches, groups.
-- Locks: none beyond the new rows.
-- Idempotency: called once per new version.
-- Raises: nothing of its own; an operation not yet known is registered with the defaults.
create or replace function stepwell._graph_store(p_tenant_id int, p_version_id int, p_graph jsonb) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    insert into stepwell.operation (tenant_id, operation_name, class_id)
    select distinct on (n.node ->> 'operation') p_tenant_id, n.node ->> 'operation', c.class_id
    from jsonb_array_elements(p_graph -> 'nodes') as n (node)
    inner join stepwell.executor_class as c on c.class_name = coalesce(n.node ->> 'executor', 'default')
    where n.node ->> 'kind' = 'operation'
    on conflict (tenant_id, operation_name) do nothing;
    insert into stepwell.workflow_step_def (
        tenant_id, version_id, step_no, step_id, step_kind, scope_no, branch_no, group_no, optional, priority,
        pending_count, operation_id, max_attempts, timeout_seconds, has_contract, inputs, config, is_last)
    select
        p_tenant_id, p_version_id, (n.node ->> 'no')::int, n.node ->> 'id', n.node ->> 'kind',
        coalesce((n.node ->> 'scope')::int, 0), (n.node ->> 'branch')::int, (n.node ->> 'group')::int,
        not coalesce((n.node ->> 'mandatory')::boolean, true), coalesce((n.node ->> 'priority')::smallint, 0),
        coalesce(e.pending_count, 0), o.operation_id,
        coalesce((n.node -> 'retry' ->> 'max_attempts')::smallint, o.max_attempts, 1),
        coalesce((n.node ->> 'timeout_seconds')::real, o.timeout_seconds),
        n.node ? 'form' or n.node ? 'postcondition', n.node -> 'inputs',
        n.node - array['no', 'id', 'kind', 'scope', 'branch', 'group', 'mandatory', 'priority', 'operation', 'inputs'],
        coalesce((n.node ->> 'scope')::int, 0) = 0 and f.from_no is null
    from jsonb_array_elements(p_graph -> 'nodes') as n (node)
    left join stepwell.operation as o on o.tenant_id = p_tenant_id and o.operation_name = n.node ->> 'operation'
    left join (
        select x."to" as to_no, count(*)::int as pending_count
        from jsonb_to_recordset(p_graph -> 'edges') as x ("to" int)
        group by x."to"
    ) as e on e.to_no = (n.node ->> 'no')::int
    left join (
        select distinct x."from" as from_no from jsonb_to_recordset(p_graph -> 'edges') as x ("from" int)
    ) as f on f.from_no = (n.node ->> 'no')::int;
    insert into stepwell.workflow_step_relations (tenant_id, version_id, from_no, to_no, branch_no)
    select p_tenant_id, p_version_id, x."from", x."to", x.branch
    from jsonb_to_recordset(p_graph -> 'edges') as x ("from" int, "to" int, branch int);
    insert into stepwell.workflow_branch (tenant_id, version_id, branch_no, decision_no, parent_branch_no, negated)
    select p_tenant_id, p_version_id, x.no, x.decision, x.parent, x.negated
    from jsonb_to_recordset(p_graph -> 'branches') as x (no int, decision int, parent int, negated boolean);
    insert into stepwell.workflow_group (tenant_id, version_id, group_no, max_concurrency)
    select p_tenant_id, p_version_id, x.no, x.max_concurrency
    from jsonb_to_recordset(p_graph -> 'groups') as x (no int, max_concurrency int);
end
$$;
