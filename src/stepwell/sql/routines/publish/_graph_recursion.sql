-- Purpose: the step through which a workflow would call itself without end, by way of the newest versions of the workflows
--   it names, in one line; null when there is none. What is published later is checked then.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._graph_recursion(p_tenant_id int, p_graph jsonb) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_name constant text := p_graph ->> 'name';
    v_seen text[] := '{}';
    v_at record;
    v_circle record;
begin
    select array_agg(c.callee) as names, array_agg(c.step_id) as step_ids, array_agg(v_name || ' → ' || c.callee) as paths
    into v_at
    from (
        select distinct on (n.node ->> 'workflow') n.node ->> 'workflow' as callee, n.node ->> 'id' as step_id
        from jsonb_array_elements(p_graph -> 'nodes') as n (node)
        where n.node ->> 'kind' = 'subworkflow'
    ) as c;
    -- Level by level, each workflow once: the way that is told is a shortest one.
    while v_at.names is not null loop
        select q.step_id, q.path into v_circle
        from unnest(v_at.names, v_at.step_ids, v_at.paths) as q (name, step_id, path)
        where q.name = v_name;
        if found then
            return format('step %s, workflow: the workflow would call itself without end: %s', v_circle.step_id, v_circle.path);
        end if;
        v_seen := v_seen || v_at.names;
        select array_agg(c.callee) as names, array_agg(c.step_id) as step_ids, array_agg(c.path) as paths
        into v_at
        from (
            select distinct on (d.config ->> 'workflow') d.config ->> 'workflow' as callee, q.step_id,
                q.path || ' → ' || (d.config ->> 'workflow') as path
            from unnest(v_at.names, v_at.step_ids, v_at.paths) as q (name, step_id, path)
            inner join stepwell.workflow_registry as w on w.tenant_id = p_tenant_id and w.workflow_name = q.name
            cross join lateral (
                select x.version_id from stepwell.workflow_version as x
                where x.tenant_id = w.tenant_id and x.workflow_id = w.workflow_id
                order by x.version_no desc limit 1
            ) as v
            inner join stepwell.workflow_step_def as d
                on d.tenant_id = p_tenant_id and d.version_id = v.version_id and d.step_kind = 'subworkflow'
            where not d.config ->> 'workflow' = any (v_seen)
        ) as c;
    end loop;
    return null;
end
$$;
