-- Purpose: an approval with the words a message about it needs: the workflow, and what its step or job is called.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._slack_card_approval(p_tenant_id int, p_approval_id bigint) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select to_jsonb(a) || jsonb_build_object(
        'expires_epoch', extract(epoch from a.expires_at)::bigint,
        'decided_epoch', extract(epoch from a.decided_at)::bigint,
        'subject', (select stepwell._unit_name(u) from stepwell.work_unit as u
            where u.tenant_id = a.tenant_id and u.unit_id = a.subject_unit_id),
        'workflow', (select w.workflow_name from stepwell.run_detail as r
            inner join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
            where r.tenant_id = a.tenant_id and r.run_id = a.run_id))
    from stepwell.v_approval as a
    where a.tenant_id = p_tenant_id and a.approval_id = p_approval_id
$$;
