-- Purpose: the reason behind fn_why_not_running: a code, the facts its sentence needs, and who can change it.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing; a unit that is in none of the places it could be in is `unexplained`, and that is a fault of ours.
create or replace function stepwell._why(p_unit stepwell.work_unit)
returns table (code text, facts jsonb, who text)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_name constant text := stepwell._unit_name(p_unit);
    v_found record;
begin
    if p_unit.state_code in ('completed', 'skipped', 'cancelled', 'cannot_complete', 'approved', 'rejected', 'expired',
        'merged', 'confirmed', 'void', 'reversed') or (p_unit.scope = 'workflow_run' and p_unit.state_code = 'failed') then
        return query select 'ended', jsonb_build_object('name', v_name, 'state', p_unit.state_code),
            case when p_unit.state_code in ('failed', 'cannot_complete') then 'reviewer' else 'nobody' end;
    elsif p_unit.state_code in ('in_progress', 'overdue') and p_unit.scope = 'step' and p_unit.class_id is null
        and p_unit.pic_id is null then
        -- A step of the engine's own: a sub-workflow, whose run is at work.
        return query select w.* from stepwell._why_waiting(p_unit, v_name) as w;
    elsif p_unit.state_code in ('in_progress', 'overdue') and p_unit.scope <> 'workflow_run' then
        select s.worker_name, s.expires_at into v_found
        from stepwell.worker_session as s where s.session_id = p_unit.lease_session_id;
        return query select case when found then 'leased' else 'in_hand' end,
            jsonb_build_object('name', v_name, 'worker', v_found.worker_name, 'until', v_found.expires_at,
                'person', coalesce(stepwell._person_name(p_unit.tenant_id, p_unit.pic_id), 'engine')),
            case when found then 'worker:' || v_found.worker_name
                else 'person:' || coalesce(stepwell._person_name(p_unit.tenant_id, p_unit.pic_id), '?') end;
    elsif p_unit.state_code = 'paused' or exists (select from stepwell.run_progress as p
        where p.tenant_id = p_unit.tenant_id and p.run_id = p_unit.unit_id >> 20 and p.frozen_at is not null) then
        return query select 'paused', jsonb_build_object('name', v_name, 'run', p_unit.unit_id >> 20), 'reviewer';
    elsif p_unit.state_code = 'not_started' or (p_unit.state_code = 'ready' and exists (
        select from stepwell.workflow_step_def as d
        where d.tenant_id = p_unit.tenant_id and d.version_id = p_unit.version_id and d.step_no = p_unit.def_no
            and d.step_kind = 'decision')) then
        return query select w.* from stepwell._why_not_started(p_unit, v_name) as w;
    elsif p_unit.state_code in ('ready', 'failed') then
        return query select w.* from stepwell._why_not_claimed(p_unit, v_name) as w;
    elsif p_unit.state_code = 'waiting' then
        return query select w.* from stepwell._why_waiting(p_unit, v_name) as w;
    elsif p_unit.state_code = 'blocked' then
        select e.payload ->> 'block_reason' as reason into v_found
        from stepwell.event_log as e
        where e.tenant_id = p_unit.tenant_id and e.stream_id = p_unit.unit_id >> 20
            and e.unit_id = p_unit.unit_id and e.to_state = 'blocked'
        order by e.event_id desc limit 1;
        return query select 'blocked', jsonb_build_object('name', v_name,
            'reason', format('{vocab.block_reason.%s}', coalesce(v_found.reason, 'other'))),
            coalesce('person:' || stepwell._person_name(p_unit.tenant_id, p_unit.pic_id), 'operator');
    else
        return query select case p_unit.scope when 'approval' then 'approval' when 'proposal' then 'approval'
            when 'receipt' then 'receipt' else 'unexplained' end, jsonb_build_object('name', v_name, 'state', p_unit.state_code), 'reviewer';
    end if;
end
$$;
