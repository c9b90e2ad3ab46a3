-- Drawings of graphs: computed outside the database, kept here for each graph.

-- Keeps the drawing of a graph, if the caller may publish: everybody sees what is kept. The first one stays. Returns its
-- hash.
-- Locks: none but the new row.
-- Idempotency: a drawing that is kept already is not replaced.
-- Raises: SW002 when no version has this graph; SW007 for another tenant.
create or replace function stepwell.fn_layout_keep(
    p_tenant_id int, p_graph_hash text, p_lanes_by text, p_layout_version int, p_drawing jsonb
) returns text
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_hash constant text := stepwell._layout_hash(p_graph_hash, p_lanes_by, p_layout_version);
begin
    perform stepwell._verb_check(p_tenant_id, 'read');
    if not stepwell.sees_all_steps() then
        -- The drawing of a graph that is shown in part is for whoever asked.
        return v_hash;
    end if;
    if not exists (select from stepwell.workflow_version as v where v.tenant_id = p_tenant_id and v.graph_hash = p_graph_hash) then
        raise exception using errcode = 'SW002', column = 'graph_hash', message = 'no version has this graph';
    end if;
    if p_lanes_by not in ('role', 'executor', 'category', 'none') or p_layout_version not between 1 and 1000
        or jsonb_typeof(p_drawing) is distinct from 'object' then
        raise exception using errcode = 'SW001', column = 'lanes_by', message = 'lanes: role, executor, category and none are accepted';
    end if;
    if coalesce(current_setting('stepwell.binding', true), '') <> '' and not stepwell._verb_allowed('workflow.publish') then
        return v_hash;
    end if;
    insert into stepwell.graph_layout (tenant_id, layout_hash, graph_hash, lanes_by, layout_version, drawing, drawn_at)
    values (p_tenant_id, v_hash, p_graph_hash, p_lanes_by, p_layout_version, p_drawing, stepwell.now())
    on conflict do nothing;
    return v_hash;
end
$$;

-- The name of a drawing: of which graph, with which lanes, by which release of the layout.
create or replace function stepwell._layout_hash(p_graph_hash text, p_lanes_by text, p_layout_version int) returns text
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select encode(sha256(convert_to(concat_ws(':', p_graph_hash, p_lanes_by, p_layout_version), 'UTF8')), 'hex')
$$;
