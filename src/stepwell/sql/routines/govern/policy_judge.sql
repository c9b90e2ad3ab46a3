-- The policy in force judges an action: allow, deny or needs approval. Whatever goes wrong is a denial.

-- The verdict of the policy in force on an action: effect, reason code, reason, rule, tier, two_person. No policy, a
-- policy that is missing, changed or broken, and any error are a denial with its own reason code.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: only the time-out of the statement, which the caller counts as a denial.
create or replace function stepwell.fn_policy_evaluate(p_tenant_id int, p_action jsonb) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_policy record;
    v_verdict jsonb;
begin
    select a.policy_set_id as active_id, s.policy_set_id, s.version_no, s.rules, s.rules_hash into v_policy
    from stepwell.policy_active as a
    left join stepwell.policy_set as s on a.tenant_id = s.tenant_id and a.policy_set_id = s.policy_set_id
    where a.tenant_id = p_tenant_id;
    if not found then
        return jsonb_build_object('effect', 'deny', 'reason_code', 'no_policy', 'reason', 'no policy is in force');
    end if;
    if v_policy.policy_set_id is null then
        v_verdict := jsonb_build_object('reason_code', 'policy_missing', 'reason', 'the policy in force cannot be found');
    elsif v_policy.rules is null or v_policy.rules_hash is distinct from stepwell._policy_hash(v_policy.rules) then
        v_verdict := jsonb_build_object('reason_code', 'policy_altered',
            'reason', 'the rules in force are not those that were approved');
    elsif jsonb_typeof(p_action) is distinct from 'object' then
        v_verdict := jsonb_build_object('reason_code', 'action_unreadable', 'reason', 'the action is not an object');
    else
        v_verdict := stepwell._policy_judge(v_policy.rules, p_action);
    end if;
    return '{"effect": "deny"}' || v_verdict || jsonb_build_object('policy_set_id', v_policy.policy_set_id,
        'policy_version', v_policy.version_no);
exception when others then
    return jsonb_build_object('effect', 'deny', 'reason_code', 'evaluation_error', 'reason',
        format('the policy cannot be evaluated: %s', sqlerrm));
end
$$;

-- The verdict of a rule set that is not stored, to test policy files.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: only the time-out of the statement.
create or replace function stepwell.fn_policy_try(p_rules jsonb, p_action jsonb) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select stepwell._policy_judge(p_rules, p_action)
$$;

-- The result of each rule of a set for an action, in the order of evaluation: true, false, unknown, or why it cannot be
-- evaluated. For people who want to know why.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: only the time-out of the statement.
create or replace function stepwell.fn_policy_trace(p_rules jsonb, p_action jsonb)
returns table (priority int, rule text, effect text, answer text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select (r.body ->> 'priority')::int, r.body ->> 'name', r.body ->> 'effect',
        stepwell._policy_answer(r.body, p_action)
    from jsonb_array_elements(case when exists (select from stepwell.fn_policy_check(p_rules)) then '[]' else p_rules end)
        as r (body)
    order by 1
$$;

-- The verdict of a rule set on an action: the first rule that matches, by priority, decides. No match, an expression
-- that fails, and one that is neither true nor false deny, each with its own reason code.
create or replace function stepwell._policy_judge(p_rules jsonb, p_action jsonb) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_problem record;
    v_rule jsonb;
    v_answer text;
    v_gap text;
begin
    if octet_length(p_action::text) > stepwell._limit('limits.action_bytes') then
        return jsonb_build_object('effect', 'deny', 'reason_code', 'action_too_large', 'reason',
            format('the action is larger than %s bytes', stepwell._limit('limits.action_bytes')));
    end if;
    -- With one broken rule nobody can say what the whole set means.
    select c.rule_no, c.field, c.problem into v_problem from stepwell.fn_policy_check(p_rules) as c limit 1;
    if found then
        return jsonb_build_object('effect', 'deny', 'reason_code', 'policy_broken', 'reason',
            format('rule %s, %s: %s', v_problem.rule_no, coalesce(v_problem.field, 'as a whole'), v_problem.problem));
    end if;
    for v_rule in
        select r.body from jsonb_array_elements(p_rules) as r (body) order by (r.body ->> 'priority')::int
    loop
        v_answer := stepwell._policy_answer(v_rule, p_action);
        if v_answer not in ('true', 'false') then
            v_gap := case v_answer when 'unknown' then
                stepwell._path_gap(stepwell._policy_document(p_action, v_rule ->> 'match'), v_rule ->> 'match') end;
            return jsonb_build_object('effect', 'deny', 'rule', v_rule ->> 'name',
                'reason_code', case v_answer when 'unknown' then 'rule_unknown' else 'rule_error' end,
                'reason', case v_answer
                    when 'unknown' then format('rule %s is neither true nor false for this action%s', v_rule ->> 'name',
                        coalesce(': ' || v_gap, ''))
                    else format('rule %s cannot be evaluated: %s', v_rule ->> 'name', v_answer) end);
        end if;
        if v_answer = 'true' then
            return v_rule - 'match' - 'name' || jsonb_build_object('rule', v_rule ->> 'name', 'reason_code', 'rule');
        end if;
    end loop;
    return jsonb_build_object('effect', 'deny', 'reason_code', 'no_match', 'reason', 'no rule matches this action');
end
$$;

-- The answer of a rule: true, false, unknown, or what went wrong. A rule that denies or asks is also true where it is true
-- for another reading of the target: the other system may read it so. And a filter of such a rule does not overlook a value
-- that it cannot compare. A rule that allows reads only what is sent, and is
-- not true because something was left out.
create or replace function stepwell._policy_answer(p_rule jsonb, p_action jsonb) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_answer text := stepwell._policy_match(p_rule ->> 'match', p_action);
    v_reading text;
begin
    if v_answer = 'false' and p_rule ->> 'effect' <> 'allow' and jsonb_typeof(p_action -> 'target') = 'string' then
        foreach v_reading in array stepwell._target_readings(p_action ->> 'target') loop
            v_answer := stepwell._policy_match(p_rule ->> 'match', p_action || jsonb_build_object('target', v_reading));
            exit when v_answer <> 'false';
        end loop;
    end if;
    if v_answer = 'false' and p_rule ->> 'effect' <> 'allow' and p_rule ->> 'match' like '%?%' then
        v_answer := stepwell._policy_filter_answer(p_rule ->> 'match', p_action);
    end if;
    if v_answer = 'true' and p_rule ->> 'effect' = 'allow' and stepwell._policy_is_doubtful(p_rule ->> 'match', p_action) then
        v_answer := 'unknown';
    end if;
    return v_answer;
end
$$;

-- Whether an expression is true only because something was left out: a filter under a negation dropped what it cannot compare,
-- a comparison of several values holds for one of them, or the expression asks whether another is unknown. A rule
-- that allows must not be true in such a way.
create or replace function stepwell._policy_is_doubtful(p_match text, p_action jsonb) returns boolean
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_words constant text := regexp_replace(p_match::jsonpath::text, '"(?:[^"\\]|\\.)*"', '""', 'g');
    v_lax constant text := regexp_replace(p_match, '^\s*(lax|strict)\y', '', 'i');
    v_document jsonb;
begin
    if v_words ~ 'is unknown' then
        return true;
    end if;
    v_document := case when v_words ~ '[?*,]|\yto\y|keyvalue' then stepwell._policy_document(p_action, p_match) end;
    if v_words ~ '[?]' and exists (select from unnest(array[v_lax, stepwell._path_doubtful(v_lax)]) as p (path)
            cross join lateral stepwell._path_evaluate(v_document, p.path, true, true) as e
            where e.problem is not null or e.result is distinct from 'true') then
        return true;
    end if;
    return v_words ~ '\*|,|\yto\y|keyvalue' and exists (
        select from jsonb_to_recordset(stepwell._path_sites(stepwell._path_compared(p_match))) as s ("left" text, scope text)
        where s.scope is null and s."left" ~ '\*|,|\yto\y|keyvalue' and stepwell._path_has_many(v_document, s."left"));
end
$$;

-- A path without what it asks for with exists: there one of several is meant.
create or replace function stepwell._path_compared(p_path text) returns text
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
declare
    v_result text := '';
    v_token text;
    v_depth int := 0;
begin
    for v_token in select m.found[1] from regexp_matches(p_path::jsonpath::text, '("(?:[^"\\]|\\.)*"|exists \(|.)', 'g') as m (found) loop
        if v_depth > 0 or v_token = 'exists (' then
            v_depth := v_depth + case when v_token in ('(', 'exists (') then 1 when v_token = ')' then -1 else 0 end;
            v_result := v_result || case when v_depth = 0 then '(1 == 1)' else '' end;
        else
            v_result := v_result || v_token;
        end if;
    end loop;
    return v_result;
end
$$;

-- The answer of an expression with filters that is false when it is read strictly: a filter leaves out what it
-- cannot compare, such as a list or a text in place of a number. True when it holds for an item of a list, unknown
-- when a filter cannot tell; a value that is missing stays false.
create or replace function stepwell._policy_filter_answer(p_match text, p_action jsonb) returns text
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_document constant jsonb := stepwell._policy_document(p_action, p_match);
    v_lax constant text := regexp_replace(p_match, '^\s*(lax|strict)\y', '', 'i');
    v_plain record;
    v_doubt record;
begin
    select e.* into v_plain from stepwell._path_evaluate(v_document, v_lax, true, true) as e;
    if v_plain.problem is not null or v_plain.result = 'true' then
        return coalesce(v_plain.problem, 'true');
    end if;
    select e.* into v_doubt from stepwell._path_evaluate(v_document, stepwell._path_doubtful(v_lax), true, true) as e;
    return coalesce(v_doubt.problem, case when v_doubt.result = 'true' then 'unknown' else 'false' end);
end
$$;

-- How another system may read a target besides as it is written: in lower case, without a query, without a slash at its end.
create or replace function stepwell._target_readings(p_target text) returns text[]
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select array(
        select distinct r.reading
        from (values (p_target), (regexp_replace(p_target, '/?(\?.*)?$', ''))) as w (written)
        cross join lateral (values (w.written), (lower(w.written))) as r (reading)
        where r.reading not in (p_target, '')
        order by r.reading)
$$;

-- Whether a match expression is true for an action: true, false, unknown, or what went wrong. It is read strictly: a
-- value of the fields or of the input that is missing, null or a list is unknown, whatever it is compared with.
create or replace function stepwell._policy_match(p_match text, p_action jsonb) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce(e.problem, e.result::text, 'unknown')
    from stepwell._path_evaluate(stepwell._policy_document(p_action, p_match), stepwell._path_strict(p_match), true, false) as e
$$;

-- An action as a rule reads it, with all its roots: only inside of fields and input can something be missing.
create or replace function stepwell._policy_document(p_action jsonb, p_match text) returns jsonb
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select '{"tenant": null, "workflow": null, "step": null, "run_id": null, "connector": null, "operation": null,
        "target": null, "reversible": null, "writes": null, "reverses": null, "actor": null,
        "started_by": null, "attempt": null}'::jsonb || p_action || stepwell._path_document(jsonb_build_object(
        'fields', coalesce(p_action -> 'fields', '{}'), 'input', coalesce(p_action -> 'input', '{}')), p_match)
$$;

-- What a path reads outside of its filters and cannot compare: a value that the document does not have, a list or an object.
-- In words, for the one who asks why; null when there is none.
create or replace function stepwell._path_gap(p_document jsonb, p_path text) returns text
language sql stable
set search_path = stepwell, pg_temp
as $$
    select format(case when v.result is null then '%s is missing' else '%s is %s %s' end,
        regexp_replace(s."left", '\."([A-Za-z_][A-Za-z0-9_]*)"', '.\1', 'g'),
        case jsonb_typeof(v.result) when 'array' then 'a' else 'an' end,
        case jsonb_typeof(v.result) when 'array' then 'list' else 'object' end)
    from jsonb_to_recordset(stepwell._path_sites(p_path)) as s ("left" text, scope text)
    cross join lateral stepwell._path_evaluate(p_document, s."left", false, true) as v
    where s.scope is null and s."left" like '$.%'
        and (v.result is null or jsonb_typeof(v.result) in ('array', 'object'))
    limit 1
$$;

-- The digest of a rule set: the same rules have the same digest.
create or replace function stepwell._policy_hash(p_rules jsonb) returns text
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select encode(sha256(convert_to(p_rules::text, 'UTF8')), 'hex')
$$;

-- Rule sets, with the state of their proposals, and which one is in force.
create or replace view stepwell.v_policy with (security_invoker = true) as
select
    s.tenant_id,
    s.version_no,
    case when a.policy_set_id is not null then 'active' when u.state_code = 'merged' then 'replaced' else u.state_code end
        as state_code,
    s.rules,
    s.rules_hash,
    s.diff,
    b.version_no as base_version_no,
    s.proposal_id,
    s.approval_id,
    s.proposed_by,
    s.proposed_at,
    s.reason,
    a.activated_at,
    a.activated_by,
    s.source
from stepwell.policy_set as s
inner join stepwell.work_unit as u on s.tenant_id = u.tenant_id and s.proposal_id = u.unit_id
left join stepwell.policy_active as a on s.tenant_id = a.tenant_id and s.policy_set_id = a.policy_set_id
left join stepwell.policy_set as b on s.tenant_id = b.tenant_id and s.base_policy_set_id = b.policy_set_id;
