-- Purpose: the person in charge says that something is missing without which the work cannot go on (T4); the reason is a
--   key of vocab.block_reason. How severe that is follows from time, deadline and critical path.
-- Locks: the run.
-- Idempotency: by key.
-- Raises: SW002 when step or person do not exist; SW004 when the registry refuses, block_reason_known included.
create or replace function stepwell.fn_step_block(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_reason text, p_detail text default null, p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_answer jsonb := stepwell._step_enter(p_tenant_id, p_unit_id, 'step_block', p_key);
begin
    if v_answer is not null then
        return v_answer;
    end if;
    perform stepwell._step_pic_check(p_tenant_id, p_unit_id, p_actor);
    insert into stepwell.step_block as b (tenant_id, unit_id, block_reason, detail, blocked_by, blocked_at)
    values (p_tenant_id, p_unit_id, coalesce(p_reason, ''), p_detail, p_actor, stepwell.now())
    on conflict (tenant_id, unit_id) do update set block_reason = excluded.block_reason, detail = excluded.detail,
        blocked_by = excluded.blocked_by, blocked_at = excluded.blocked_at, escalated_at = null, escalated_by = null;
    update stepwell.run_progress as p set needs_attention = true
    where p.tenant_id = p_tenant_id and p.run_id = p_unit_id >> 20;
    v_answer := stepwell._step_move(p_tenant_id, p_unit_id, 'blocked', 'pic_human', 'rpc', 'step_block', p_actor,
        jsonb_build_object('block_reason', p_reason),
        jsonb_strip_nulls(jsonb_build_object('block_reason', p_reason, 'detail', p_detail)));
    return stepwell._step_leave(p_tenant_id, p_unit_id, 'step_block', p_key, v_answer);
end
$$;
