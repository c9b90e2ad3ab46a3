-- Comments of people on steps and tasks, and what handlers have saved of their work.

-- Writes a comment on a step or task, also after it has ended. Whoever takes part or oversees may; a comment never changes.
-- Locks: the run.
-- Idempotency: by key.
-- Raises: SW001 for an empty comment; SW002 when step or person do not exist; SW004 naming the guard actor_takes_part; SW006
--   over a limit.
create or replace function stepwell.fn_step_comment(
    p_tenant_id int, p_unit_id bigint, p_actor text, p_body text, p_key text default null
) returns jsonb
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_answer jsonb := stepwell._step_answer(p_tenant_id, p_unit_id, 'step_comment', p_key);
    v_scope text;
    v_comment_id bigint;
begin
    p_actor := stepwell._actor_bound(p_tenant_id, p_actor, 'step.work');
    if v_answer is not null then
        return v_answer;
    end if;
    perform stepwell._step_actor_check(p_tenant_id, p_unit_id, p_actor, 'actor_takes_part');
    if coalesce(p_body, '') !~ '[^[:space:]]' then
        raise exception using errcode = 'SW001', column = 'body', message = 'body: a text is required';
    end if;
    perform stepwell._values_check('body', 'comment', array[to_jsonb(p_body)], 'limits.comment_bytes');
    if (select count(*) from stepwell.task_comments as c where c.tenant_id = p_tenant_id and c.unit_id = p_unit_id)
        >= stepwell._limit('limits.comments_per_step') then
        raise exception using errcode = 'SW006', column = 'body', message = format('body: %s has %s comments; that is the limit',
            stepwell._title_of(p_tenant_id, p_unit_id), stepwell._limit('limits.comments_per_step'));
    end if;
    insert into stepwell.task_comments (tenant_id, unit_id, run_id, body, written_by, written_at)
    values (p_tenant_id, p_unit_id, stepwell._run_of(p_unit_id), stepwell._redact_text(p_body), p_actor, stepwell.now())
    returning comment_id into v_comment_id;
    select u.scope into v_scope from stepwell.work_unit as u where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id;
    perform stepwell._event_append(p_tenant_id, p_unit_id, v_scope || '.commented', p_actor,
        jsonb_build_object('comment_id', v_comment_id), 'pic_human');
    return stepwell._step_leave(p_tenant_id, p_unit_id, 'step_comment', p_key, jsonb_build_object('ok', true, 'comment_id', v_comment_id));
end
$$;

-- What the handlers of steps and tasks have saved of their work, by its name in the source document.
create or replace view stepwell.task_checkpoints with (security_invoker = true) as
select
    c.tenant_id,
    c.unit_id,
    stepwell._run_of(c.unit_id) as run_id,
    c.checkpoint_name,
    c.checkpoint_value,
    c.lease_no as request_id,
    c.saved_at
from stepwell.unit_checkpoint as c;
