-- The colour of a run. It comes from the counters in run_progress, which every state change moves. The colour of a
-- sub-run is shown on the step around it (subrun colour), and so it reaches the runs above.

-- The colour of a run from its counters, by the policy rows: the highest-ranked class that has a step.
create or replace function stepwell._rollup_colour(p_red_count bigint, p_wait_count bigint, p_active_count bigint)
returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select r.colour
    from stepwell.rollup_rule as r
    where case r.semantic_class
        when 'red' then p_red_count > 0
        when 'wait' then p_wait_count > 0
        when 'active' then p_active_count > 0
        else true end
    order by r.rank
    limit 1
$$;

-- Sets the subrun colour of the steps around these runs. Where it has changed, the step counts under another class, the
-- counters and the colour of the run above change with it, and so on upwards. Steps that do not count (not mandatory,
-- or of the items of a Map) get no subrun colour.
-- Locks: the caller holds the runs. The runs above are locked out of order, so without waiting: when another
--   transaction holds one, the whole transaction ends with 55P03 and its client tries again. Where no class changes,
--   nothing is locked.
-- Raises: 55P03 when a run above is locked by another transaction (try again).
create or replace function stepwell._subrun_colours_show(p_tenant_ids int[], p_run_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_child record;
    v_step record;
begin
    for v_child in
        select distinct p.tenant_id, p.parent_run_id, w.parent_id as unit_id, l.class
        from unnest(p_tenant_ids, p_run_ids) as q (tenant_id, run_id)
        inner join stepwell.run_progress as p
            on q.tenant_id = p.tenant_id and q.run_id = p.run_id and p.parent_run_id is not null
        inner join stepwell.work_unit as w on p.tenant_id = w.tenant_id and stepwell._run_unit(p.run_id) = w.unit_id
        inner join stepwell.work_unit as s on w.tenant_id = s.tenant_id and w.parent_id = s.unit_id
        inner join stepwell.state_def as d on s.state_machine_id = d.state_machine_id and s.state_code = d.state_code
        cross join lateral (select case p.rollup_state_code
            when 'red' then 'red' when 'yellow' then 'wait' else 'active' end as class) as l
        where w.state_code in ('in_progress', 'paused') and s.state_code in ('in_progress', 'waiting') and s.mandatory
            and coalesce(s.subrun_class, d.semantic_class) <> l.class
        order by p.tenant_id, p.parent_run_id, w.parent_id
    loop
        perform 1 from stepwell.run_progress as p
        where p.tenant_id = v_child.tenant_id and p.run_id = v_child.parent_run_id
        for update nowait;
        -- Read again: now that the run is locked, nobody else changes the step.
        select d.semantic_class, coalesce(s.subrun_class, d.semantic_class) as class into v_step
        from stepwell.work_unit as s
        inner join stepwell.state_def as d on s.state_machine_id = d.state_machine_id and s.state_code = d.state_code
        where s.tenant_id = v_child.tenant_id and s.unit_id = v_child.unit_id and s.state_code in ('in_progress', 'waiting');
        continue when not found or v_step.class = v_child.class;
        update stepwell.work_unit as s set subrun_class = nullif(v_child.class, v_step.semantic_class)
        where s.tenant_id = v_child.tenant_id and s.unit_id = v_child.unit_id;
        update stepwell.run_progress as p set
            active_count = n.active_count, wait_count = n.wait_count, red_count = n.red_count, last_rollup_at = stepwell.now(),
            rollup_state_code = case when p.frozen_at is not null then p.rollup_state_code
                else stepwell._rollup_colour(n.red_count, n.wait_count, n.active_count) end
        from (
            select x.active_count + (v_child.class = 'active')::int - (v_step.class = 'active')::int as active_count,
                x.wait_count + (v_child.class = 'wait')::int - (v_step.class = 'wait')::int as wait_count,
                x.red_count + (v_child.class = 'red')::int - (v_step.class = 'red')::int as red_count
            from stepwell.run_progress as x
            where x.tenant_id = v_child.tenant_id and x.run_id = v_child.parent_run_id
        ) as n
        where p.tenant_id = v_child.tenant_id and p.run_id = v_child.parent_run_id;
        perform stepwell._subrun_colours_show(array[v_child.tenant_id], array[v_child.parent_run_id]);
    end loop;
end
$$;
