-- Purpose: the person in charge declares that a step or task cannot be finished (T12), with a reference to the declaration.
-- Locks: the run.
-- Idempotency: by key.
-- Raises: SW002 when step or person do not exist; SW004 when the registry refuses, declaration_evidence included.
create or replace function stepwell.fn_step_cannot_complete(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_evidence_ref text, p_reason text default null, p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_answer jsonb := stepwell._step_enter(p_tenant_id, p_unit_id, 'declare_cannot_complete', p_key);
begin
    if v_answer is not null then
        return v_answer;
    end if;
    perform stepwell._step_pic_check(p_tenant_id, p_unit_id, p_actor);
    v_answer := stepwell._step_move(p_tenant_id, p_unit_id, 'cannot_complete', 'pic_human', 'rpc', 'declare_cannot_complete',
        p_actor, jsonb_strip_nulls(jsonb_build_object('declaration_ref', p_evidence_ref)),
        jsonb_strip_nulls(jsonb_build_object('reason', p_reason, 'evidence_ref', p_evidence_ref)));
    return stepwell._step_leave(p_tenant_id, p_unit_id, 'declare_cannot_complete', p_key, v_answer);
end
$$;
