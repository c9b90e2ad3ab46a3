-- Purpose: what a waiting unit waits for: an approval, an event, a point in time, another run, the items of a map,
--   a person.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._why_waiting(p_unit stepwell.work_unit, p_name text)
returns table (code text, facts jsonb, who text)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_found record;
    v_until timestamptz;
begin
    select a.approval_id, a.quorum into v_found
    from stepwell.approval_detail as a
    where a.tenant_id = p_unit.tenant_id and a.subject_unit_id = p_unit.unit_id and a.decided_at is null
    order by a.approval_id desc limit 1;
    if found then
        return query select 'approval', jsonb_build_object('name', p_name, 'approval_id', v_found.approval_id), 'reviewer';
        return;
    end if;
    select min(t.due_at) into v_until from stepwell.timer as t
    where t.tenant_id = p_unit.tenant_id and t.unit_id = p_unit.unit_id and t.timer_kind in ('wait_timeout', 'sleep');
    select w.event_type into v_found from stepwell.event_wait as w
    where w.tenant_id = p_unit.tenant_id and w.unit_id = p_unit.unit_id;
    if found then
        return query select 'event', jsonb_build_object('name', p_name, 'event_type', v_found.event_type,
            'until', v_until), 'sender of ' || v_found.event_type;
        return;
    end if;
    if p_unit.waiting_facet = 'waiting_time_gate' and v_until is not null then
        return query select 'schedule', jsonb_build_object('name', p_name, 'at', v_until), 'clock';
        return;
    end if;
    select string_agg(format('%s ({state.%s.label})', u.unit_id >> 20, u.state_code), ', ' order by u.unit_id) as runs into v_found
    from stepwell.work_unit as u
    where u.tenant_id = p_unit.tenant_id and u.parent_id = p_unit.unit_id and u.scope = 'workflow_run'
        and u.state_code not in ('completed', 'cancelled', 'failed');
    if v_found.runs is not null then
        return query select 'subworkflow', jsonb_build_object('name', p_name, 'runs', v_found.runs), 'engine';
        return;
    end if;
    select count(*) as open_count into v_found
    from stepwell.work_unit as u
    where u.tenant_id = p_unit.tenant_id and u.parent_id = p_unit.unit_id and u.scope = 'step'
        and u.state_code not in ('completed', 'skipped', 'cancelled', 'cannot_complete');
    if v_found.open_count > 0 then
        return query select 'items', jsonb_build_object('name', p_name, 'count', v_found.open_count), 'engine';
        return;
    end if;
    select count(*) as open_count, string_agg(d.step_id, ', ' order by b.unit_id) as steps into v_found
    from stepwell.step_run_correction_cycle as c
    cross join lateral unnest(c.waits_for) as x (unit_id)
    inner join stepwell.work_unit as b on c.tenant_id = b.tenant_id and x.unit_id = b.unit_id
    inner join stepwell.workflow_step_def as d
        on b.tenant_id = d.tenant_id and b.version_id = d.version_id and b.def_no = d.step_no
    where c.tenant_id = p_unit.tenant_id and c.unit_id = p_unit.unit_id and c.closed_at is null
        and p_unit.waiting_facet = 'waiting_dependency' and b.state_code not in ('completed', 'skipped');
    if v_found.open_count > 0 then
        return query select 'dependency', jsonb_build_object('name', p_name, 'count', v_found.open_count,
            'steps', v_found.steps), 'engine';
        return;
    end if;
    return query select case when p_unit.waiting_facet = 'waiting_human' or p_unit.pic_id is not null then 'human'
        else 'unexplained' end, jsonb_build_object('name', p_name, 'role', '—', 'state', p_unit.state_code),
        coalesce('person:' || stepwell._person_name(p_unit.tenant_id, p_unit.pic_id), 'anyone');
end
$$;
