-- Purpose: an action that undoes another is refused, whatever the policy says, when there is nothing to undo: no such
--   receipt, not confirmed, not reversible, or undone already.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing; hands on the verdict, or a denial.
create or replace function stepwell._reversal_judge(p_tenant_id int, p_action jsonb, p_verdict jsonb) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_problem text;
begin
    if p_action -> 'reverses' is null or p_action -> 'reverses' = 'null' then
        return p_verdict;
    end if;
    v_problem := stepwell._reversal_problem(p_tenant_id, (p_action ->> 'reverses')::bigint);
    if v_problem is null then
        return p_verdict;
    end if;
    return p_verdict - 'tier' || jsonb_build_object('effect', 'deny', 'reason_code', 'not_reversible', 'reason', v_problem);
end
$$;
