-- Purpose: what a rule set says to an action: the first rule that matches, by priority, decides. No match, an expression
--   that fails, and one that is neither true nor false all deny, each with its own reason code.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing but the statement's time-out.
create or replace function stepwell._policy_judge(p_rules jsonb, p_action jsonb) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_problem record;
    v_rule jsonb;
    v_answer text;
begin
    if octet_length(p_action::text) > stepwell._limit('limits.action_bytes') then
        return jsonb_build_object('effect', 'deny', 'reason_code', 'action_too_large', 'reason',
            format('an action of more than %s bytes is not judged', stepwell._limit('limits.action_bytes')));
    end if;
    -- A broken rule anywhere: nobody can say what the set was meant to be.
    select c.rule_no, c.field, c.problem into v_problem from stepwell.fn_policy_check(p_rules) as c limit 1;
    if found then
        return jsonb_build_object('effect', 'deny', 'reason_code', 'policy_broken', 'reason',
            format('rule %s, %s: %s', v_problem.rule_no, coalesce(v_problem.field, 'as a whole'), v_problem.problem));
    end if;
    for v_rule in
        select r.body from jsonb_array_elements(p_rules) as r (body) order by (r.body ->> 'priority')::int
    loop
        v_answer := stepwell._policy_match(v_rule ->> 'match', p_action);
        if v_answer not in ('true', 'false') then
            return jsonb_build_object('effect', 'deny', 'rule', v_rule ->> 'name',
                'reason_code', case v_answer when 'unknown' then 'rule_unknown' else 'rule_error' end,
                'reason', case v_answer
                    when 'unknown' then format('rule %s is neither true nor false of this action', v_rule ->> 'name')
                    else format('rule %s cannot be evaluated: %s', v_rule ->> 'name', v_answer) end);
        end if;
        if v_answer = 'true' then
            return v_rule - 'match' - 'name' || jsonb_build_object('rule', v_rule ->> 'name', 'reason_code', 'rule');
        end if;
    end loop;
    return jsonb_build_object('effect', 'deny', 'reason_code', 'no_match', 'reason', 'no rule matches this action');
end
$$;
