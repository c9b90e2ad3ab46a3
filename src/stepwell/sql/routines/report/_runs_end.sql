-- Purpose: runs in progress with nothing open change to their end, and hand their result to a parent step.
-- Locks: the caller holds the runs.
-- Idempotency: a run that is not in progress (paused, ended) is passed over.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._runs_end(
    p_tenant_ids int[], p_unit_ids bigint[], p_to_state text, p_trigger_ref text
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_open record;
begin
    select array_agg(u.tenant_id order by u.unit_id) as tenant_ids, array_agg(u.unit_id order by u.unit_id) as unit_ids,
        bool_or(u.parent_id is not null) as has_parent
    into v_open
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where u.state_code = 'in_progress';
    if v_open.unit_ids is null then
        return;
    end if;
    perform stepwell._must_apply(v_open.tenant_ids, v_open.unit_ids, p_to_state, 'system', 'condition_resolved', p_trigger_ref,
        'engine');
    perform stepwell._runs_finish(v_open.tenant_ids, array(select q >> 20 from unnest(v_open.unit_ids) as q), p_to_state);
    if v_open.has_parent then
        perform stepwell._subruns_end(v_open.tenant_ids, v_open.unit_ids);
    end if;
end
$$;
