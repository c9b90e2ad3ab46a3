-- Purpose: the colour of a run as it is shown: that of its counters, or a worse one that a mandatory sub-workflow under way
--   lends to it. Counters are kept with every step change; the sub-workflows are asked when the colour is read, so that no
--   step of a child has to wait for its parent. A paused run keeps the colour it had.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._rollup_bridged(p_tenant_id int, p_run_id bigint) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_run record;
    v_child record;
begin
    select p.rollup_state_code, p.frozen_at, p.red_count, p.wait_count, p.active_count into v_run
    from stepwell.run_progress as p where p.tenant_id = p_tenant_id and p.run_id = p_run_id;
    if v_run.frozen_at is not null then
        return v_run.rollup_state_code;
    end if;
    select count(*) filter (where b.class = 'red') as red_count, count(*) filter (where b.class = 'wait') as wait_count,
        count(*) filter (where b.class <> d.semantic_class and d.semantic_class = 'wait') as unwait_count
    into v_child
    from stepwell.work_unit as c
    inner join stepwell.work_unit as u on c.tenant_id = u.tenant_id and c.parent_id = u.unit_id
    inner join stepwell.state_def as d on u.state_machine_id = d.state_machine_id and u.state_code = d.state_code
    cross join lateral (select stepwell._rollup_bridge(u.tenant_id, u.unit_id) as class) as b
    where c.tenant_id = p_tenant_id and c.scope = 'workflow_run' and c.state_code in ('in_progress', 'paused') and u.mandatory
        and c.parent_id between (p_run_id << 20) + 1 and ((p_run_id + 1) << 20) - 1;
    if v_child.red_count + v_child.wait_count + v_child.unwait_count = 0 then
        return v_run.rollup_state_code;
    end if;
    return stepwell._rollup_colour(v_run.red_count + v_child.red_count,
        v_run.wait_count + v_child.wait_count - v_child.unwait_count, v_run.active_count);
end
$$;
