-- Purpose: tells one level of a unit's escalation chain: an event that names who is told.
-- Locks: the caller holds the run.
-- Idempotency: a level is told once.
-- Raises: nothing.
create or replace function stepwell._escalation_tell(
    p_tenant_id int, p_unit_id bigint, p_level int, p_actor text, p_reason text
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_tell text;
    v_scope text;
begin
    update stepwell.step_escalation as e set told_at = stepwell.now()
    where e.tenant_id = p_tenant_id and e.unit_id = p_unit_id and e.level = p_level and e.told_at is null
    returning e.tell into v_tell;
    if found then
        select u.scope into v_scope from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
        perform stepwell._event_append(p_tenant_id, p_unit_id, v_scope || '.escalation_raised', p_actor,
            jsonb_strip_nulls(jsonb_build_object('level', p_level, 'tell', v_tell, 'reason', p_reason)), 'escalation_handler');
    end if;
end
$$;
