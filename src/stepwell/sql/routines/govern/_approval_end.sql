-- Purpose: ends an approval as approved or rejected through the core, which asks for the quorum.
-- Locks: the approval unit.
-- Idempotency: the registry refuses a decided approval.
-- Raises: SW004 when the registry refuses, the missing quorum included.
create or replace function stepwell._approval_end(
    p_tenant_id int, p_approval_id bigint, p_state text, p_actor text, p_reason text
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._must_apply(array[p_tenant_id], array[p_approval_id], p_state, 'reviewer', 'rpc', 'approval_decide',
        p_actor, array[jsonb_build_object('audit_ref', 'actor:' || p_actor)],
        array[jsonb_strip_nulls(jsonb_build_object('reason', p_reason))]);
    perform stepwell._approvals_close(array[p_tenant_id], array[p_approval_id], p_actor);
end
$$;
