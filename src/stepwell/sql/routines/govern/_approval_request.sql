-- Purpose: puts a question to the reviewers: an approval unit, born requested, with what it is about and who may decide.
--   The tier says how long it may be decided and by which role, where the asker does not.
-- Locks: none beyond the new rows.
-- Idempotency: none; callers ask once.
-- Raises: nothing of its own.
create or replace function stepwell._approval_request(
    p_tenant_id int, p_action text, p_subject_unit_id bigint, p_actor text, p_reason text, p_tier int default 1,
    p_quorum int default 1, p_expires_seconds int default null, p_key text default null, p_acting text default null,
    p_approvers text[] default null, p_role text default null, p_about jsonb default null
) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_approval_id constant bigint := nextval('stepwell.stream_seq') << 20;
    v_tier constant text := (array['low', 'med', 'high'])[p_tier];
    v_expires_at constant timestamptz := v_now + make_interval(secs => coalesce(p_expires_seconds, (
        select (c.config_value #>> '{}')::int from stepwell.dot_config as c
        where c.config_key = 'approval.expiry_seconds.' || v_tier
    ), stepwell._limit('approval.expiry_seconds.default')));
    v_role constant text := case when p_approvers is null then coalesce(p_role, (
        select c.config_value #>> '{}' from stepwell.dot_config as c
        where c.config_key = 'approval.role.' || v_tier)) else p_role end;
begin
    insert into stepwell.work_unit (
        tenant_id, unit_id, parent_id, last_transition_at, started_at, deadline_at, scope, state_machine_id, state_code)
    values (p_tenant_id, v_approval_id, p_subject_unit_id, v_now, v_now, v_expires_at, 'approval',
        stepwell._machine_of('approval'), 'requested');
    insert into stepwell.event_log (
        tenant_id, at, stream_id, unit_id, event_type, to_state, actor_class, actor, payload)
    values (p_tenant_id, v_now, v_approval_id >> 20, v_approval_id, 'approval.requested', 'requested', 'pic_human', p_actor,
        jsonb_strip_nulls(jsonb_build_object('action', p_action, 'subject_unit_id', p_subject_unit_id, 'reason', p_reason,
            'tier', p_tier, 'quorum', p_quorum, 'acting', p_acting, 'approvers', p_approvers, 'approver_role', v_role,
            'about', p_about)));
    insert into stepwell.approval_detail (
        tenant_id, approval_id, action, subject_unit_id, tier, quorum, requested_by, reason, requested_at, expires_at,
        request_key, acting, approvers, approver_role, about)
    values (p_tenant_id, v_approval_id, p_action, p_subject_unit_id, p_tier, p_quorum, p_actor, p_reason, v_now, v_expires_at,
        p_key, p_acting, p_approvers, v_role, p_about);
    insert into stepwell.timer (tenant_id, unit_id, timer_kind, due_at)
    values (p_tenant_id, v_approval_id, 'approval_expiry', v_expires_at);
    -- The run looks at its open questions whenever something of it changes.
    update stepwell.run_progress as p set needs_attention = true
    where p.tenant_id = p_tenant_id and p.run_id = p_subject_unit_id >> 20 and not p.needs_attention;
    return v_approval_id;
end
$$;
