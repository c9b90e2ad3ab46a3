-- Purpose: why a unit has not become ready, or a decision has not been made: a branch not chosen yet, or the steps before it
--   that have not ended, by name.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._why_not_started(p_unit stepwell.work_unit, p_name text)
returns table (code text, facts jsonb, who text)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_decision text;
    v_due_at timestamptz;
    v_found record;
begin
    select t.due_at into v_due_at from stepwell.timer as t
    where t.tenant_id = p_unit.tenant_id and t.unit_id = p_unit.unit_id and t.timer_kind = 'start';
    if found then
        return query select 'schedule', jsonb_build_object('name', p_name, 'at', v_due_at), 'clock';
        return;
    end if;
    select g.step_id into v_decision
    from stepwell.workflow_step_def as d
    inner join stepwell.workflow_branch as b
        on d.tenant_id = b.tenant_id and d.version_id = b.version_id and d.branch_no = b.branch_no
    inner join stepwell.workflow_step_def as g
        on b.tenant_id = g.tenant_id and b.version_id = g.version_id and b.decision_no = g.step_no
    inner join stepwell.work_unit as u
        on u.tenant_id = p_unit.tenant_id and u.unit_id = p_unit.unit_id + b.decision_no - p_unit.def_no
    where d.tenant_id = p_unit.tenant_id and d.version_id = p_unit.version_id and d.step_no = p_unit.def_no
        and u.state_code not in ('completed', 'skipped');
    if found then
        return query select 'branch', jsonb_build_object('name', p_name, 'decision', v_decision), 'engine';
        return;
    end if;
    select
        count(*) as open_count,
        string_agg(format('%s ({state.%s.label})', o.step_id, o.state_code), ', ' order by o.unit_id)
            filter (where o.place <= 5) || case when count(*) > 5 then ', …' else '' end as names
    into v_found
    from (
        select b.unit_id, d.step_id, u.state_code, row_number() over (order by b.unit_id) as place
        from stepwell._steps_behind(array[p_unit.tenant_id], array[p_unit.unit_id]) as b
        inner join stepwell.work_unit as u on b.tenant_id = u.tenant_id and b.unit_id = u.unit_id
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    ) as o;
    return query select case when v_found.open_count > 0 then 'dependency' else 'unexplained' end,
        jsonb_build_object('name', p_name, 'steps', v_found.names, 'count', v_found.open_count,
            'state', p_unit.state_code), 'engine';
end
$$;
