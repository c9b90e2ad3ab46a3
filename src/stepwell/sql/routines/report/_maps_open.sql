-- Purpose: Map steps make an instance of their body for each item of their list and let the entry steps go. An empty
--   list completes at once; something that is no list, or too long, fails the step for good.
-- Locks: the caller holds the runs.
-- Idempotency: called once per map.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._maps_open(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_limit constant int := stepwell._limit('limits.map_items');
    v_map record;
    v_items jsonb;
    v_problem text;
begin
    for v_map in
        select u.tenant_id, u.unit_id, d.config
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        order by u.unit_id
    loop
        -- What an earlier map let go may have failed, and called this one off.
        continue when not exists (select from stepwell.work_unit as u
            where u.tenant_id = v_map.tenant_id and u.unit_id = v_map.unit_id and u.state_code = 'in_progress');
        v_problem := null;
        begin
            v_items := jsonb_path_query_first(stepwell._unit_document(v_map.tenant_id, v_map.unit_id,
                array(select jsonb_array_elements_text(v_map.config -> 'reads')::int)), (v_map.config ->> 'over')::jsonpath);
            if jsonb_typeof(v_items) is distinct from 'array' then
                v_problem := format('%s gave %s, not a list', v_map.config ->> 'over',
                    coalesce(jsonb_typeof(v_items), 'nothing'));
            elsif jsonb_array_length(v_items) > v_limit then
                v_problem := format('%s gave %s items, at most %s', v_map.config ->> 'over', jsonb_array_length(v_items), v_limit);
            end if;
        exception when data_exception or syntax_error or invalid_text_representation then
            v_problem := format('%s cannot be evaluated: %s', v_map.config ->> 'over', sqlerrm);
        end;
        if v_problem is not null then
            perform stepwell._units_fail(array[v_map.tenant_id], array[v_map.unit_id], array[jsonb_build_object(
                'failure_class', 'expression_error', 'outcome', 'dead', 'error',
                jsonb_build_object('type', 'ExpressionError', 'message', v_problem))], 'mow_orchestrator');
        elsif jsonb_array_length(v_items) = 0 then
            perform stepwell._engine_complete(array[v_map.tenant_id], array[v_map.unit_id], array['[]'::jsonb]);
        else
            perform stepwell._map_fill(v_map.tenant_id, v_map.unit_id, v_items, (v_map.config ->> 'max_concurrency')::int);
        end if;
    end loop;
end
$$;
