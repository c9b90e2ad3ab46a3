-- Purpose: the class a sub-workflow lends to the step it runs in, by full recompute of its run: red stays red, yellow waits,
--   anything else is active. Null for a step without a run of its own that is under way.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._rollup_bridge(p_tenant_id int, p_unit_id bigint) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select case stepwell.fn_workflow_rollup_compute(c.unit_id >> 20, c.tenant_id) ->> 'rollup_state_code'
        when 'red' then 'red' when 'yellow' then 'wait' else 'active' end
    from stepwell.work_unit as c
    inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.unit_id = p_unit_id
    where c.tenant_id = p_tenant_id and c.parent_id = p_unit_id and c.scope = 'workflow_run'
        and c.state_code in ('in_progress', 'paused') and u.state_code in ('in_progress', 'waiting')
    order by c.unit_id desc
    limit 1
$$;
