-- A step is blocked: something is missing without which the work cannot continue.

-- The person in charge says that something is missing without which the work cannot continue (T4); the reason is a key
-- of vocab.block_reason. The severity follows from time, deadline and critical path.
-- Locks: the run.
-- Idempotency: by key.
-- Raises: SW002 when step or person do not exist; SW004 when the registry refuses, also by the guard
--   block_reason_known.
create or replace function stepwell.fn_step_block(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_reason text, p_detail text default null, p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_answer jsonb := stepwell._step_enter(p_tenant_id, p_unit_id, 'step_block', p_key);
begin
    p_reason := stepwell._redact_text(p_reason);
    p_detail := stepwell._redact_text(p_detail);
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'step.work');
    if v_answer is not null then
        return v_answer;
    end if;
    perform stepwell._step_pic_check(p_tenant_id, p_unit_id, p_actor);
    insert into stepwell.step_block as b (tenant_id, unit_id, block_reason, detail, blocked_by, blocked_at)
    values (p_tenant_id, p_unit_id, coalesce(p_reason, ''), p_detail, p_actor, stepwell.now())
    on conflict (tenant_id, unit_id) do update set block_reason = excluded.block_reason, detail = excluded.detail,
        blocked_by = excluded.blocked_by, blocked_at = excluded.blocked_at, escalated_at = null, escalated_by = null;
    v_answer := stepwell._step_move(p_tenant_id, p_unit_id, 'blocked', 'pic_human', 'rpc', 'step_block', p_actor,
        jsonb_build_object('block_reason', p_reason),
        jsonb_strip_nulls(jsonb_build_object('block_reason', p_reason, 'detail', p_detail)));
    return stepwell._step_leave(p_tenant_id, p_unit_id, 'step_block', p_key, v_answer);
end
$$;

-- What was missing is there (T4r): the work continues. The reference names the proof.
-- Locks: the run.
-- Idempotency: by key.
-- Raises: SW002 when step or person do not exist; SW004 when the registry refuses, also by the guards
--   blocker_resolution_evidence and actor_takes_part.
create or replace function stepwell.fn_step_unblock(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_resolution_ref text, p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
begin
    return stepwell._step_continue(p_tenant_id, p_unit_id, p_actor, p_resolution_ref, p_key, 'step_unblock', 'pic_human', 'blocker_resolved');
end
$$;

-- Marks a blocked step as urgent by hand: it is shown red and counts as red. A block that lasts longer than
-- block_severity.review_seconds of its workflow class requires a granted approval of the action block_escalate.
-- Locks: the run.
-- Idempotency: by key; a second escalation changes nothing.
-- Raises: SW002 when step or person do not exist; SW003 when the step is not blocked; SW004 when the approval is
--   missing or the guard actor_oversees refuses.
create or replace function stepwell.fn_step_block_escalate(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_reason text default null, p_approval_id bigint default null,
    p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_answer jsonb := stepwell._step_enter(p_tenant_id, p_unit_id, 'step_block_escalate', p_key);
    v_unit stepwell.work_unit;
    v_block stepwell.step_block;
begin
    p_reason := stepwell._redact_text(p_reason);
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'step.work');
    if v_answer is not null then
        return v_answer;
    end if;
    perform stepwell._step_actor_check(p_tenant_id, p_unit_id, p_actor, 'actor_oversees');
    select u.* into v_unit from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    v_block := stepwell._block_escalate_check(v_unit, p_approval_id);
    update stepwell.step_block as b set escalated_at = coalesce(b.escalated_at, stepwell.now()),
        escalated_by = coalesce(b.escalated_by, p_actor)
    where b.tenant_id = p_tenant_id and b.unit_id = p_unit_id;
    if v_block.escalated_at is null then
        perform stepwell._event_append(p_tenant_id, p_unit_id, v_unit.scope || '.block_escalated', p_actor,
            jsonb_strip_nulls(jsonb_build_object('reason', p_reason)), 'reviewer');
    end if;
    perform stepwell._blocks_weigh(p_tenant_id, stepwell._run_of(p_unit_id));
    return stepwell._step_leave(p_tenant_id, p_unit_id, 'step_block_escalate', p_key, '{"ok": true}');
end
$$;

-- Checks that a block can be escalated: the unit is blocked, and a block that has lasted long has its approval. Returns the block.
-- Raises: SW003 when the unit is not blocked; SW004 when the approval is missing.
create or replace function stepwell._block_escalate_check(p_unit stepwell.work_unit, p_approval_id bigint) returns stepwell.step_block
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_block stepwell.step_block;
begin
    if p_unit.state_code <> 'blocked' then
        raise exception using errcode = 'SW003', message = format('%s is not blocked and cannot be escalated',
            stepwell._title_of(p_unit.tenant_id, p_unit.unit_id));
    end if;
    select b.* into v_block from stepwell.step_block as b where b.tenant_id = p_unit.tenant_id and b.unit_id = p_unit.unit_id;
    if v_block.blocked_at + make_interval(secs => stepwell._class_limit(p_unit.tenant_id, p_unit.unit_id, 'block_severity.review_seconds'))
            < stepwell.now()
        and not stepwell._approval_granted(p_unit.tenant_id, p_approval_id, 'block_escalate', p_unit.unit_id) then
        raise exception using errcode = 'SW004', message = format(
            '%s has been blocked since %s; escalating it requires a granted approval of the action block_escalate',
            stepwell._title_of(p_unit.tenant_id, p_unit.unit_id), v_block.blocked_at);
    end if;
    return v_block;
end
$$;
